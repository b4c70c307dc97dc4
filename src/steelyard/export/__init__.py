"""Writers of URDF files and tables; inertias are exactly physical with the written digits."""
