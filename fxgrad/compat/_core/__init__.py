"""What a Tensor is: value, node, view; which tape records it; the switches; and, in `backward`, the way back."""
