"""A binary tree-LSTM over trees stored as index tensors: `left[i]` is -1 where node i is a leaf."""
from typing import NamedTuple

import tensorflow as tf


class Tree(NamedTuple):
    left: tf.Tensor
    right: tf.Tensor
    token: tf.Tensor


class TreeLSTM(tf.Module):
    def __init__(self, vocabulary, width, share_leaves=False):
        super().__init__()
        self.width = width
        self.embedding = tf.Variable(tf.random.normal((vocabulary, width)))
        self.combine = tf.Variable(tf.random.normal((2 * width, 5 * width), stddev=0.2))
        self.leaf = None
        if not share_leaves:
            self.leaf = tf.Variable(tf.random.normal((width, 3 * width), stddev=0.2))

    def leaf_state(self, token):
        x = self.embedding[token][None]
        if self.leaf is None:
            return tf.tanh(x), x
        i, o, u = tf.split(x @ self.leaf, 3, axis=-1)
        cell = tf.sigmoid(i) * tf.tanh(u)
        return tf.sigmoid(o) * tf.tanh(cell), cell

    def merge(self, first, second):
        (h1, c1), (h2, c2) = first, second
        i, f1, f2, o, u = tf.split(tf.concat([h1, h2], -1) @ self.combine, 5, axis=-1)
        cell = tf.sigmoid(f1) * c1 + tf.sigmoid(f2) * c2 + tf.sigmoid(i) * tf.tanh(u)
        return tf.sigmoid(o) * tf.tanh(cell), cell

    def encode(self, tree, node):
        if tree.left[node] < 0:
            state = self.leaf_state(tree.token[node])
        else:
            first = self.encode(tree, tree.left[node])
            second = self.encode(tree, tree.right[node])
            state = self.merge(first, second)
        return state

    @tf.function
    def sentiment(self, tree, weights):
        hidden, _ = self.encode(tree, tf.size(tree.left) - 1)
        score = tf.reduce_sum(hidden[0] * weights)
        return 1 if score > 0 else -1


def tree_from(nested):
    """Returns nested pairs of tokens as a tree. Children have smaller indices than their parents."""
    left, right, token = [], [], []

    def visit(node):
        if isinstance(node, tuple):
            a, b, word = visit(node[0]), visit(node[1]), 0
        else:
            a, b, word = -1, -1, node
        left.append(a)
        right.append(b)
        token.append(word)
        return len(left) - 1

    visit(nested)
    return Tree(tf.constant(left), tf.constant(right), tf.constant(token))


def main():
    tf.random.set_seed(0)
    model = TreeLSTM(20, 8)
    weights = tf.random.normal((8,))
    for sentence in (3, (1, 2), ((4, 5), (6, (7, 8)))):
        print(sentence, int(model.sentiment(tree_from(sentence), weights)))


if __name__ == "__main__":
    main()
