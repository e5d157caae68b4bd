def gemm_mac(x, y):
    """Return the number of multiply-accumulates of the matrix product x @ y, as an int."""
    ### YOUR CODE HERE ###
    raise NotImplementedError()
    ######################
