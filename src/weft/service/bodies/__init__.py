"""What requests and responses contain: schemas, problems, and the results of the library in them."""
