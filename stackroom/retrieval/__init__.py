"""Search over stores: ranked lists from every store, fused into one answer."""
