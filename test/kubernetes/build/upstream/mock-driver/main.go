// Serves the mock driver of Kubernetes' own tests on a socket: mock-driver SOCKET NAME, where NAME is the driver's name and its node's id.
package main

import (
	"log"
	"net"
	"os"

	"k8s.io/kubernetes/test/e2e/storage/drivers/csi-test/driver"
	"k8s.io/kubernetes/test/e2e/storage/drivers/csi-test/mock/service"
)

func main() {
	os.Remove(os.Args[1])
	listener, err := net.Listen("unix", os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	mock := service.New(service.Config{DriverName: os.Args[2]})
	plugin := driver.NewCSIDriver(&driver.CSIDriverServers{Controller: mock, Identity: mock, Node: mock})
	if err := plugin.Start(listener, nil); err != nil {
		log.Fatal(err)
	}
	select {}
}
