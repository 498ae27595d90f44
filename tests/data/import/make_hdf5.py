"""Makes weights.h5 (groups and data sets as Keras saves them) and packed.h5 (in deflated chunks), with h5py.

Run it in this folder. Values: see hdf5_test.cc.
"""
import h5py
import numpy as np

with h5py.File("weights.h5", "w") as file:
    dense = file.create_group("dense/vars")
    dense.attrs["name"] = "dense"
    dense["0"] = np.arange(6, dtype=np.float32).reshape(2, 3)
    dense["1"] = np.array([-2, 1024], np.float16)
    file["steps"] = np.int64(42)

with h5py.File("packed.h5", "w") as file:
    values = np.arange(35, dtype=np.float32).reshape(5, 7)
    file.create_dataset("w", data=values, chunks=(2, 4), compression="gzip", shuffle=True)
