// The specs of Kubernetes' suite for external storage. Each spec appends a line of JSON to the file that SPECS_FILE names.
package upstream

import (
	"encoding/json"
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"
	"k8s.io/kubernetes/test/e2e/framework"
	"k8s.io/kubernetes/test/e2e/framework/config"
	_ "k8s.io/kubernetes/test/e2e/framework/debug/init"
	_ "k8s.io/kubernetes/test/e2e/framework/metrics/init"
	_ "k8s.io/kubernetes/test/e2e/framework/node/init"
	"k8s.io/kubernetes/test/e2e/framework/testfiles"
	_ "k8s.io/kubernetes/test/e2e/storage/external"
	manifests "k8s.io/kubernetes/test/e2e/testing-manifests"
)

func TestMain(m *testing.M) {
	config.CopyFlags(config.Flags, flag.CommandLine)
	framework.RegisterCommonFlags(flag.CommandLine)
	framework.RegisterClusterFlags(flag.CommandLine)
	flag.Parse()
	testfiles.AddFileSource(manifests.GetE2ETestingManifestsFS())
	framework.AfterReadingAllFlags(&framework.TestContext)
	// The preview of all specs above would drop an earlier node.
	ginkgo.ReportAfterEach(report)
	os.Exit(m.Run())
}

func TestSpecs(t *testing.T) {
	gomega.RegisterFailHandler(framework.Fail)
	suite, reporter := framework.CreateGinkgoConfig()
	ginkgo.RunSpecs(t, "external storage", suite, reporter)
}

func report(spec ginkgo.SpecReport) {
	if !strings.HasPrefix(spec.FullText(), "External Storage ") {
		return
	}
	line, err := json.Marshal(map[string]any{
		"name":    spec.FullText(),
		"state":   spec.State.String(),
		"reason":  spec.FailureMessage(),
		"seconds": spec.RunTime.Seconds(),
	})
	framework.ExpectNoError(err)
	// Processes append side by side, so each line is one write.
	file, err := os.OpenFile(os.Getenv("SPECS_FILE"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	framework.ExpectNoError(err)
	defer file.Close()
	_, err = file.Write(append(line, '\n'))
	framework.ExpectNoError(err)
}
