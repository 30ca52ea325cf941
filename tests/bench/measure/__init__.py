"""What every bench needs: the tools and sources that are compared, their CPU time, a language client, tables."""
