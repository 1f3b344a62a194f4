"""TensorRT in its three flavours: finding it, building plans, running them. Nothing here is imported without need."""
