"""What commands print and how they end. Free of heavy imports."""
