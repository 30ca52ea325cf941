"""All frameworks and carriers of the matrix."""
from pathlib import Path

import carriers_frameworks
import carriers_python
import faults_jax
import faults_tensorflow
import faults_torch
import faults_torchscript

HERE = Path(__file__).resolve().parent
FRAMEWORKS = {framework.name: framework for framework in (
    faults_jax.FRAMEWORK, faults_tensorflow.FRAMEWORK, faults_torch.COMPILE, faults_torch.EXPORT,
    faults_torchscript.FRAMEWORK)}
CARRIERS = carriers_python.CARRIERS + carriers_frameworks.CARRIERS
