# pip install openfeature-sdk openfeature-provider-ofrep
from openfeature import api
from openfeature.contrib.provider.ofrep import OFREPProvider
from openfeature.evaluation_context import EvaluationContext

api.set_provider(OFREPProvider("http://127.0.0.1:8420"))
print(api.get_client().get_boolean_value("ui/banner", False, EvaluationContext("t1")))
