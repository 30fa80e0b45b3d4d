"""Pictures of attention: the heat map, the explorer and its host for static pages."""
