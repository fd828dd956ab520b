"""What programs written for HIPS autograd have elsewhere: files for `fxgrad.peers.door.autograd_layout`."""
