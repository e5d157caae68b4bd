def calc_attn_mac(B, H, L_q, L_kv, D_h):
    """Return the multiply-accumulates of scaled dot-product attention; softmax counts none."""
    mac = 0
    # the product of Q and K transposed
    ### YOUR CODE HERE ###
    raise NotImplementedError()
    ######################
    # the product of the probabilities and V
    ### YOUR CODE HERE ###
    raise NotImplementedError()
    ######################
    return mac
