def scaled_dot_product_attention(q, k, v, attn_mask=None):
    # YOUR CODE HERE
    raise NotImplementedError()
