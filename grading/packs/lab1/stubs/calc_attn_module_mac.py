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
