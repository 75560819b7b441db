"""Stackroom: folders of documents and records become searchable stores that stay in step with the files.

The library knows nothing of Dagster. Import the module that holds what you need; nothing heavy (docling, torch,
chromadb) is imported until an ``open_…`` function asks for it.
"""

__version__ = "0.1.0"
