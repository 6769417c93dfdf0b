"""Writes digits_logits.npy and digits_labels.npy: a classifier's scores for handwritten digits.

The images are scikit-learn's (UCI's optical recognition of handwritten digits, 1797 of 8 x 8
pixels). Every image is scored by a classifier that was trained without it, so the number of
labels hit is what the classifier is worth, not what it remembers.

    pip install numpy scikit-learn
    python make_digits.py
"""

from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

images, labels = load_digits(return_X_y=True)
classifier = make_pipeline(StandardScaler(), LogisticRegression(C=0.1, max_iter=1000))
folds = StratifiedKFold(n_splits=5, shuffle=True, random_state=0)
scores = cross_val_predict(classifier, images, labels, cv=folds, method="decision_function")

folder = Path(__file__).parent
np.save(folder / "digits_logits.npy", scores.astype(np.float32))
np.save(folder / "digits_labels.npy", labels.astype(np.int64))

hits = np.count_nonzero(scores.astype(np.float32).argmax(axis=1) == labels)
print(f"{hits} of {len(labels)} labels hit")
