# SPDX-License-Identifier: BSD-3-Clause
"""Names of `skprivate` and their modules."""

from ._config import config_context as config_context
from ._config import get_config as get_config
from ._config import set_config as set_config
from ._version import __version__ as __version__
from .accounting import Composition as Composition
from .accounting import LedgerEntry as LedgerEntry
from .accounting import PrivacyGuarantee as PrivacyGuarantee
from .accounting import PrivacyLedger as PrivacyLedger
from .accounting import PrivacySpent as PrivacySpent
from .accounting import ShuffledPrivacy as ShuffledPrivacy
from .accounting import compose as compose
from .accounting import shuffle_amplification as shuffle_amplification
from .base import privacy_report as privacy_report
from .collaborative import BSTDAggregator as BSTDAggregator
from .collaborative import CollaborativeClassifier as CollaborativeClassifier
from .collaborative import CollaborativeLARRegressor as CollaborativeLARRegressor
from .collaborative import CollaborativeRegressor as CollaborativeRegressor
from .collaborative import ConsentBox as ConsentBox
from .collaborative import LocalAverageRegressor as LocalAverageRegressor
from .collaborative import SecureSumAggregator as SecureSumAggregator
from .collection import TreeClient as TreeClient
from .collection import TreeCurator as TreeCurator
from .domain import TableDomain as TableDomain
from .domain import life_data as life_data
from .ensemble import DPBoostingClassifier as DPBoostingClassifier
from .ensemble import DPBoostingRegressor as DPBoostingRegressor
from .evaluation import plan_life_study as plan_life_study
from .evaluation import plan_study as plan_study
from .evaluation import private_describe as private_describe
from .evaluation import private_evaluate as private_evaluate
from .games import AggregativeGame as AggregativeGame
from .games import PrivateNashSolver as PrivateNashSolver
from .games import QuadraticAggregativeGame as QuadraticAggregativeGame
from .games import VaccinationGame as VaccinationGame
from .label_privacy import LabelPrivateClassifier as LabelPrivateClassifier
from .label_privacy import LabelPrivateRegressor as LabelPrivateRegressor
from .linear_model import DPLogisticLLSRegressor as DPLogisticLLSRegressor
from .linear_model import DPLogisticRegression as DPLogisticRegression
from .linear_model import DPLogLocationScaleRegressor as DPLogLocationScaleRegressor
from .linear_model import DPNormalLLSRegressor as DPNormalLLSRegressor
from .linear_model import DPSEVRegressor as DPSEVRegressor
from .linear_model import MomentAccumulator as MomentAccumulator
from .model_selection import PrivateGridSearch as PrivateGridSearch
from .model_selection import PrivateRandomizedSearch as PrivateRandomizedSearch
from .model_selection import PublicPrivateSplit as PublicPrivateSplit
from .preprocessing import BoundsScaler as BoundsScaler
from .preprocessing import DomainEncoder as DomainEncoder
from .preprocessing import TQMATransformer as TQMATransformer
from .tree import DPTreeClassifier as DPTreeClassifier
from .tree import DPTreeRegressor as DPTreeRegressor
from .tree import LocallyPrivateTreeClassifier as LocallyPrivateTreeClassifier
from .tree import LocallyPrivateTreeRegressor as LocallyPrivateTreeRegressor

__all__ = [
    "AggregativeGame",
    "BSTDAggregator",
    "BoundsScaler",
    "CollaborativeClassifier",
    "CollaborativeLARRegressor",
    "CollaborativeRegressor",
    "Composition",
    "ConsentBox",
    "DPBoostingClassifier",
    "DPBoostingRegressor",
    "DPLogLocationScaleRegressor",
    "DPLogisticLLSRegressor",
    "DPLogisticRegression",
    "DPNormalLLSRegressor",
    "DPSEVRegressor",
    "DPTreeClassifier",
    "DPTreeRegressor",
    "DomainEncoder",
    "LabelPrivateClassifier",
    "LabelPrivateRegressor",
    "LedgerEntry",
    "LocalAverageRegressor",
    "LocallyPrivateTreeClassifier",
    "LocallyPrivateTreeRegressor",
    "MomentAccumulator",
    "PrivacyGuarantee",
    "PrivacyLedger",
    "PrivacySpent",
    "PrivateGridSearch",
    "PrivateNashSolver",
    "PrivateRandomizedSearch",
    "PublicPrivateSplit",
    "QuadraticAggregativeGame",
    "SecureSumAggregator",
    "ShuffledPrivacy",
    "TQMATransformer",
    "TableDomain",
    "TreeClient",
    "TreeCurator",
    "VaccinationGame",
    "compose",
    "config_context",
    "get_config",
    "life_data",
    "plan_life_study",
    "plan_study",
    "privacy_report",
    "private_describe",
    "private_evaluate",
    "set_config",
    "shuffle_amplification",
]
