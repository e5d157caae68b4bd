"""Other assumptions than the plain ones, each stated in a comment or a docstring."""


# Causal attention is assumed: only half of the scores are computed.
def calc_attn_mac(B, H, L_q, L_kv, D_h):
    return B * H * L_q * L_kv * D_h


def calc_attn_io(B, H, L_q, L_kv, D_h):
    """A softmax of three passes over the scores; the attention mask is read as well."""
    scores = B * H * L_q * L_kv
    qk = B * H * (L_q + L_kv) * D_h + scores
    softmax = 3 * scores + scores  # softmax itself: 3 passes, and one pass for the mask
    av = scores + B * H * (L_q + L_kv) * D_h
    return 4 * (qk + softmax + av)


def calc_attn_module_mac(batch_size, query_len, kv_len, gemma_config):
    # No KV cache: K and V are projected for all kv_len tokens.
    hidden, d = gemma_config.hidden_size, gemma_config.head_dim
    heads, kv_heads = gemma_config.num_attention_heads, gemma_config.num_key_value_heads
    q_proj = batch_size * query_len * hidden * heads * d
    kv_proj = 2 * batch_size * kv_len * hidden * kv_heads * d
    attention = 2 * batch_size * heads * query_len * kv_len * d
    return 2 * q_proj + kv_proj + attention


def calc_attn_module_io(batch_size, query_len, kv_len, gemma_config):
    # Assumption: the projection weights stay resident on chip and are not read again.
    # K and V are expanded to all query heads before the products.
    hidden, d = gemma_config.hidden_size, gemma_config.head_dim
    q_dim, kv_dim = gemma_config.num_attention_heads * d, gemma_config.num_key_value_heads * d
    rows, scores = batch_size * query_len, batch_size * gemma_config.num_attention_heads * query_len * kv_len
    elements = 3 * rows * hidden + rows * (q_dim + 2 * kv_dim)
    elements += 3 * rows * q_dim + 7 * scores + rows * q_dim
    return 2 * (elements + rows * q_dim + rows * hidden)
