def calc_attn_io(B, H, L_q, L_kv, D_h):
    """Return the bytes that scaled dot-product attention moves between memory and chip."""
    bytes_per_elem = 4
    ### YOUR CODE HERE ###
    raise NotImplementedError()
    ######################
