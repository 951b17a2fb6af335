"""Entity coherence: the entity grid (Barzilay & Lapata 2008), its generative form, and the entity graph."""
