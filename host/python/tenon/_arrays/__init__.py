"""Arrays of other libraries and files, and their conversion to tensors."""
