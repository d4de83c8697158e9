"""examples/kubernetes: manifests against the API's schemas, and what the Dockerfile takes for granted of the tree."""

import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = ROOT / "examples" / "kubernetes"


def documents(name):
    yaml = pytest.importorskip("yaml", reason="needs PyYAML (with kubernetes-validate)")
    return list(yaml.safe_load_all((FOLDER / name).read_text()))


@pytest.fixture
def validator():
    """The API's own schemas, which the library carries: no network."""
    return pytest.importorskip("kubernetes_validate", reason="needs kubernetes-validate")


@pytest.mark.parametrize("name", ["monitor.yaml", "npu.yaml"])
def test_the_manifest_is_valid(validator, name):
    for document in documents(name):
        validator.validate(document, validator.latest_version(), strict=True)


def a_field_that_is_none(deployment, scaler):
    scaler["spec"]["maxReplica"] = 10


def a_text_for_a_number(deployment, scaler):
    scaler["spec"]["minReplicas"] = "1"


def a_probe_of_two_kinds(deployment, scaler):
    deployment["spec"]["template"]["spec"]["containers"][0]["livenessProbe"]["period"] = 3


def a_limit_that_is_a_list(deployment, scaler):
    deployment["spec"]["template"]["spec"]["containers"][0]["resources"]["limits"] = ["1"]


def a_text_for_a_port(deployment, scaler):
    port = deployment["spec"]["template"]["spec"]["containers"][0]["ports"][0]
    port["containerPort"] = "9400"


@pytest.mark.parametrize(
    "spoil",
    [
        a_text_for_a_port,
        a_field_that_is_none,
        a_text_for_a_number,
        a_probe_of_two_kinds,
        a_limit_that_is_a_list,
    ],
)
def test_mistakes_are_found(validator, spoil):
    deployment, _, scaler = found = documents("npu.yaml")
    spoil(deployment, scaler)
    with pytest.raises(validator.ValidationError):
        for document in found:
            validator.validate(document, validator.latest_version(), strict=True)


@pytest.mark.parametrize("name", ["monitor.yaml", "npu.yaml"])
def test_the_parts_fit_together(name):
    (config,) = (d for d in documents("monitor.yaml") if d["kind"] == "ConfigMap")
    deployment, service = (
        next(d for d in documents(name) if d["kind"] == kind) for kind in ("Deployment", "Service")
    )
    pod = deployment["spec"]["template"]
    (container,) = pod["spec"]["containers"]
    (port,) = container["ports"]
    labels = pod["metadata"]["labels"].items()
    assert service["spec"]["selector"].items() <= labels
    assert deployment["spec"]["selector"]["matchLabels"].items() <= labels
    assert service["spec"]["ports"][0]["targetPort"] == port["name"]
    assert pod["metadata"]["annotations"]["prometheus.io/port"] == str(port["containerPort"])
    env = {e["name"]: e["value"] for e in container["env"]}
    assert env["METRICS_PORT"] == str(port["containerPort"])
    for probe in (probe for probe in container if probe.endswith("Probe")):
        assert container[probe]["httpGet"] == {"path": "/healthz", "port": port["name"]}
    assert {"livenessProbe", "readinessProbe"} <= container.keys()
    # The program is the one of monitor.yaml, and every volume is mounted.
    volumes = {v["name"]: v for v in pod["spec"]["volumes"]}
    mounted = {m["name"]: m["mountPath"] for m in container["volumeMounts"]}
    assert volumes["program"]["configMap"]["name"] == config["metadata"]["name"]
    assert container["command"][1] == f"{mounted['program']}/{next(iter(config['data']))}"
    assert set(volumes) == set(mounted)


def test_pods_with_npus():
    deployment, _, scaler = documents("npu.yaml")
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    assert {"name": "ASNUMPY_DEVICE", "value": "ascend"} in container["env"]
    assert "startupProbe" in container
    target = scaler["spec"]["scaleTargetRef"]
    assert (target["kind"], target["name"]) == ("Deployment", deployment["metadata"]["name"])
    assert (scaler["spec"]["minReplicas"], scaler["spec"]["maxReplicas"]) == (1, 10)
    assert "replicas" not in deployment["spec"]  # they are the autoscaler's
    # What it divides the load by; and a device cannot be shared, so both say the same.
    requests, limits = (container["resources"][part] for part in ("requests", "limits"))
    assert requests["cpu"] and requests["huawei.com/Ascend910"] == "1"
    assert limits["huawei.com/Ascend910"] == "1"


def instructions():
    """(word, rest) of each instruction of the Dockerfile, lines that go on joined."""
    text = re.sub(r"^#.*\n", "", (FOLDER / "Dockerfile").read_text(), flags=re.M)
    lines = re.sub(r"\\\n", "", text).splitlines()
    return [tuple(line.split(None, 1)) for line in lines if line.strip()]


def test_the_image_is_made_of_what_there_is():
    words = {"ARG", "FROM", "USER", "RUN", "WORKDIR", "COPY", "ENV", "EXPOSE", "CMD"}
    assert {word for word, _ in instructions()} <= words
    stages = [rest for word, rest in instructions() if word == "FROM"]
    assert [s.split(" AS ")[1:] for s in stages] == [["build"], []]
    copied = [rest.split()[:-1] for word, rest in instructions() if word == "COPY"]
    for source in (s for sources in copied for s in sources if not s.startswith("--from=")):
        assert source == "/wheels" or (ROOT / source).exists(), source
    project = (ROOT / "pyproject.toml").read_text()
    assert re.search(r"^\[project.optional-dependencies\]\nmonitor = ", project, flags=re.M)
    assert [rest for word, rest in instructions() if word == "USER"][-1] != "root"
    port = documents("npu.yaml")[0]["spec"]["template"]["spec"]["containers"][0]["ports"][0]
    assert ("EXPOSE", str(port["containerPort"])) in instructions()


def test_what_the_image_copies_makes_a_wheel():
    """The folders that the build reads: CMake's own and those that its files name."""
    copied = {
        source for word, rest in instructions() if word == "COPY" for source in rest.split()[:-1]
    }
    text = (ROOT / "CMakeLists.txt").read_text()
    named = set(
        re.findall(r"(?:\$\{PROJECT_SOURCE_DIR\}/|\s)(cmake|include|python|src|tools)/", text)
    )
    assert {"cmake", "include", "src"} <= named
    assert named | {"pyproject.toml", "CMakeLists.txt"} <= copied
    project = (ROOT / "pyproject.toml").read_text()
    for field in (r'^readme = "(.*)"$', r'^license-files = \["(.*)"\]$'):
        assert re.search(field, project, flags=re.M)[1] in copied
