"""The only writers of robot files: what goes out is physical on the digits that are written."""

from __future__ import annotations

from steelyard.export.physical import LinkRepair as LinkRepair
from steelyard.export.physical import NearestUrdf as NearestUrdf
from steelyard.export.physical import nearest_urdf as nearest_urdf
from steelyard.export.physical import unphysical_links as unphysical_links
from steelyard.export.urdf import Body as Body
from steelyard.export.urdf import Change as Change
from steelyard.export.urdf import Rewritten as Rewritten
from steelyard.export.urdf import rewrite_inertials as rewrite_inertials
from steelyard.export.urdf import write_inertials as write_inertials

__all__ = [
    "Body",
    "Change",
    "LinkRepair",
    "NearestUrdf",
    "Rewritten",
    "nearest_urdf",
    "rewrite_inertials",
    "unphysical_links",
    "write_inertials",
]
