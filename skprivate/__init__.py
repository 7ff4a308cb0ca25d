# SPDX-License-Identifier: BSD-3-Clause
"""Privacy-preserving machine learning with the scikit-learn API."""

from typing import TYPE_CHECKING

from . import _requirements as _requirements
from ._config import config_context, get_config, set_config
from ._version import __version__ as __version__
from .utils._public_module import lazy_exports

if TYPE_CHECKING:
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


_HOMES = {
    "AggregativeGame": ".games",
    "BSTDAggregator": ".collaborative",
    "BoundsScaler": ".preprocessing",
    "CollaborativeClassifier": ".collaborative",
    "CollaborativeLARRegressor": ".collaborative",
    "CollaborativeRegressor": ".collaborative",
    "Composition": ".accounting",
    "ConsentBox": ".collaborative",
    "DPBoostingClassifier": ".ensemble",
    "DPBoostingRegressor": ".ensemble",
    "DPLogLocationScaleRegressor": ".linear_model",
    "DPLogisticLLSRegressor": ".linear_model",
    "DPLogisticRegression": ".linear_model",
    "DPNormalLLSRegressor": ".linear_model",
    "DPSEVRegressor": ".linear_model",
    "DPTreeClassifier": ".tree",
    "DPTreeRegressor": ".tree",
    "DomainEncoder": ".preprocessing",
    "LabelPrivateClassifier": ".label_privacy",
    "LabelPrivateRegressor": ".label_privacy",
    "LedgerEntry": ".accounting",
    "LocalAverageRegressor": ".collaborative",
    "LocallyPrivateTreeClassifier": ".tree",
    "LocallyPrivateTreeRegressor": ".tree",
    "MomentAccumulator": ".linear_model",
    "PrivacyGuarantee": ".accounting",
    "PrivacyLedger": ".accounting",
    "PrivacySpent": ".accounting",
    "PrivateGridSearch": ".model_selection",
    "PrivateNashSolver": ".games",
    "PrivateRandomizedSearch": ".model_selection",
    "PublicPrivateSplit": ".model_selection",
    "QuadraticAggregativeGame": ".games",
    "SecureSumAggregator": ".collaborative",
    "ShuffledPrivacy": ".accounting",
    "TQMATransformer": ".preprocessing",
    "TableDomain": ".domain",
    "TreeClient": ".collection",
    "TreeCurator": ".collection",
    "VaccinationGame": ".games",
    "compose": ".accounting",
    "privacy_report": ".base",
    "life_data": ".domain",
    "plan_life_study": ".evaluation",
    "plan_study": ".evaluation",
    "private_describe": ".evaluation",
    "private_evaluate": ".evaluation",
    "shuffle_amplification": ".accounting",
}
__getattr__, __dir__ = lazy_exports(__name__, _HOMES)

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
