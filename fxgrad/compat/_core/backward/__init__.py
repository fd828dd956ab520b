"""The backward engine: cotangents along the nodes of a tape, hooks on the way, and their arrival in `.grad`."""
