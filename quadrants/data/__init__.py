"""Fields, ndarrays, tensors and their exchange with NumPy, torch and DLPack."""
