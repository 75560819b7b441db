"""Stores of vectors and of keywords; :func:`stackroom.stores.base.open_store` opens a vector store by URI."""
