def gemm_mac(x, y):
    """Return the number of multiply-accumulates of the matrix product x @ y, as an int."""
    ### YOUR CODE HERE ###
    raise NotImplementedError()
    ######################


def gemm_io(A, B):
    """Return the bytes that A @ B moves in fp32: operands read, result written, as an int."""
    ### YOUR CODE HERE ###
    raise NotImplementedError()
    ######################


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


def calc_attn_io(B, H, L_q, L_kv, D_h):
    """Return the bytes that scaled dot-product attention moves between memory and chip."""
    bytes_per_elem = 4
    ### YOUR CODE HERE ###
    raise NotImplementedError()
    ######################


def calc_attn_module_mac(batch_size, query_len, kv_len, gemma_config):
    """Return the multiply-accumulates of the whole attention module, as an int."""
    hidden_size = gemma_config.hidden_size
    num_heads = gemma_config.num_attention_heads
    num_kv_heads = gemma_config.num_key_value_heads
    head_dim = gemma_config.head_dim
    q_dim = num_heads * head_dim
    kv_dim = num_kv_heads * head_dim
    ### YOUR CODE HERE ###
    raise NotImplementedError()
    ######################


def calc_attn_module_io(batch_size, query_len, kv_len, gemma_config):
    """Return the bytes moved by the whole attention module, as an int."""
    hidden_size = gemma_config.hidden_size
    num_heads = gemma_config.num_attention_heads
    num_kv_heads = gemma_config.num_key_value_heads
    head_dim = gemma_config.head_dim
    q_dim = num_heads * head_dim
    kv_dim = num_kv_heads * head_dim
    bytes_per_elem = 2
    ### YOUR CODE HERE ###
    raise NotImplementedError()
    ######################
