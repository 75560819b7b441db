"""Bibliographic metadata with evidence: what a file says about itself, and what is made of it.

``signals`` gathers (inside a conversion worker), ``extract`` decides (anywhere, from the gathered signals alone).
"""
