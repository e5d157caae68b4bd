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
