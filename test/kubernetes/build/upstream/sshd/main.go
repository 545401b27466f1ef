// An SSH server for a node of the test clusters. It runs each command in a shell, for every client: only the site's
// namespaces reach its address.
package main

import (
	"crypto/ed25519"
	"errors"
	"log"
	"net"
	"os/exec"

	"golang.org/x/crypto/ssh"
)

func main() {
	config := &ssh.ServerConfig{NoClientAuth: true}
	config.AddHostKey(createHostKey())
	listener := must(net.Listen("tcp", ":22"))
	for {
		connection := must(listener.Accept())
		go serve(connection, config)
	}
}

func createHostKey() ssh.Signer {
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		log.Fatal(err)
	}
	return must(ssh.NewSignerFromKey(key))
}

func serve(connection net.Conn, config *ssh.ServerConfig) {
	_, channels, requests, err := ssh.NewServerConn(connection, config)
	if err != nil {
		log.Print(err)
		return
	}
	go ssh.DiscardRequests(requests)
	for offered := range channels {
		channel, requests, err := offered.Accept()
		if err != nil {
			log.Print(err)
			continue
		}
		go serveSession(channel, requests)
	}
}

func serveSession(channel ssh.Channel, requests <-chan *ssh.Request) {
	defer channel.Close()
	for request := range requests {
		if request.Type != "exec" {
			request.Reply(false, nil)
			continue
		}
		var payload struct{ Command string }
		if err := ssh.Unmarshal(request.Payload, &payload); err != nil {
			log.Print(err)
			return
		}
		request.Reply(true, nil)
		channel.SendRequest("exit-status", false, ssh.Marshal(struct{ Status uint32 }{run(payload.Command, channel)}))
		return
	}
}

func run(command string, channel ssh.Channel) uint32 {
	shell := exec.Command("sh", "-c", command)
	shell.Stdout = channel
	shell.Stderr = channel.Stderr()
	err := shell.Run()
	var ended *exec.ExitError
	if errors.As(err, &ended) {
		return uint32(ended.ExitCode())
	}
	if err != nil {
		log.Print(err)
		return 127
	}
	return 0
}

func must[T any](value T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return value
}
