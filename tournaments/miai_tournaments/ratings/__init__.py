"""Joint maximum-likelihood ratings and the bootstrap that checks them."""
