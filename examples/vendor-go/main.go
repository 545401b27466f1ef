// A storage vendor for Fairlead with Go's standard library alone. Volumes are image files in a directory, attached
// through loop devices of this machine. The server listens on loopback; README.md lists its environment variables.
package main

import (
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
)

const maxBody = 4 << 20

type object map[string]any

// server answers requests on a storage.
type server struct {
	storage *Storage
	token   string
}

func main() {
	token := os.Getenv("TOKEN")
	if token == "" {
		log.Fatal("no callers can be authenticated: set TOKEN")
	}
	capacity, err := strconv.ParseInt(valueOf("CAPACITY", strconv.Itoa(100<<30)), 10, 64)
	if err != nil {
		log.Fatalf("CAPACITY is a number of bytes: %v", err)
	}
	storage, err := OpenStorage(valueOf("DIR", "data"), capacity)
	if err != nil {
		log.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:"+valueOf("PORT", "0"))
	if err != nil {
		log.Fatal(err)
	}
	os.Stdout.WriteString("listening on http://" + listener.Addr().String() + "\n")
	log.Fatal(http.Serve(listener, &server{storage, token}))
}

func valueOf(name, fallback string) string {
	if value := os.Getenv(name); value != "" {
		return value
	}
	return fallback
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if tooLarge := new(http.MaxBytesError); err != nil && !errors.As(err, &tooLarge) {
		panic(http.ErrAbortHandler) // the request was cut off, and must not be carried out
	} else if err != nil {
		send(w, 0, problemf("INVALID_ARGUMENT", "the body has more than %d bytes", maxBody))
		return
	}
	wanted := []byte("Bearer " + s.token)
	if subtle.ConstantTimeCompare([]byte(r.Header.Get("Authorization")), wanted) != 1 {
		w.Header().Set("WWW-Authenticate", "Bearer")
		send(w, 0, problemf("UNAUTHENTICATED", "the bearer token is missing or not valid"))
		return
	}
	status, answer := s.run(r, text)
	send(w, status, answer)
}

// send writes an answer; an error that is no Problem may have left work half done.
func send(w http.ResponseWriter, status int, answer any) {
	kind := "application/json"
	if err, isError := answer.(error); isError {
		problem := new(Problem)
		if !errors.As(err, &problem) {
			log.Print(err)
			problem = problemf("UNAVAILABLE", "the request failed; send it again")
		}
		status, kind = statuses[problem.Code], "application/problem+json"
		answer = object{"status": status, "code": problem.Code, "detail": problem.Detail}
	}
	if answer == nil {
		w.WriteHeader(status)
		return
	}
	w.Header().Set("Content-Type", kind)
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(answer)
}

// run decodes each part of the path once, and runs the operation of the method and the path.
func (s *server) run(r *http.Request, text []byte) (int, any) {
	raw := strings.Split(strings.TrimPrefix(r.URL.EscapedPath(), "/"), "/")
	path := make([]string, len(raw))
	for i, part := range raw {
		decoded, err := url.PathUnescape(part)
		if err != nil {
			return 0, problemf("INVALID_ARGUMENT", "the path is not percent-encoded: %v", err)
		}
		path[i] = decoded
	}
	s.storage.mutex.Lock()
	defer s.storage.mutex.Unlock()
	if len(path) >= 2 && path[0] == "v1" {
		switch path[1] {
		case "volumes":
			return s.runVolume(r, path[2:], text)
		case "capabilities":
			if len(path) == 2 && r.Method == "GET" {
				return 200, s.capabilities()
			}
		case "capacity":
			if len(path) == 2 && r.Method == "POST" {
				return s.capacity(text)
			}
		case "snapshots", "groups", "nodes":
			return 0, problemf("UNIMPLEMENTED", "%s are not offered", path[1])
		}
	}
	return 0, unknown(r)
}

func unknown(r *http.Request) error {
	return problemf("NOT_FOUND", "there is no operation %s %s", r.Method, r.URL.EscapedPath())
}

func (s *server) runVolume(r *http.Request, path []string, text []byte) (int, any) {
	if len(path) == 0 {
		if r.Method != "GET" {
			return 0, unknown(r)
		}
		return s.list(r.URL.Query())
	}
	id := path[0]
	isValid := resourceID.MatchString(id)
	operation := r.Method
	if len(path) > 1 {
		operation += " " + path[1]
	}
	if len(path) == 3 && path[1] == "attachments" {
		isValid = isValid && isNodeID(path[2])
	} else if len(path) > 2 || operation == "PUT attachments" {
		return 0, unknown(r)
	}
	switch {
	case isValid:
	case r.Method == "DELETE":
		return 204, nil
	case r.Method == "GET":
		return 0, problemf("NOT_FOUND", "%q cannot be the id of a resource", strings.Join(path, "/"))
	default:
		return 0, problemf("INVALID_ARGUMENT", "%q cannot be the id of a resource", strings.Join(path, "/"))
	}
	switch operation {
	case "GET":
		found, err := s.storage.find(id)
		return reply(200, found.Volume, err)
	case "PUT":
		spec, err := readBody(text, (*VolumeSpec).isValid)
		if err != nil {
			return 0, err
		}
		volume, isNew, err := s.storage.Create(id, *spec)
		return reply(statusOf(isNew), volume, err)
	case "DELETE":
		return reply(204, nil, s.storage.Delete(id))
	case "PUT size":
		spec, err := readBody(text, (*SizeSpec).isValid)
		if err != nil {
			return 0, err
		}
		volume, err := s.storage.Expand(id, *spec)
		return reply(200, volume, err)
	case "PUT parameters":
		spec, err := readBody(text, (*ParametersSpec).isValid)
		if err != nil {
			return 0, err
		}
		volume, err := s.storage.Modify(id, spec.MutableParameters)
		return reply(200, volume, err)
	case "GET health":
		return 0, problemf("UNIMPLEMENTED", "health is not offered")
	case "PUT attachments":
		spec, err := readBody(text, (*AttachmentSpec).isValid)
		if err != nil {
			return 0, err
		}
		resource, isNew, err := s.storage.Attach(id, path[2], *spec)
		return reply(statusOf(isNew), resource, err)
	case "GET attachments":
		if len(path) == 3 {
			resource, err := s.storage.Attachment(id, path[2])
			return reply(200, resource, err)
		}
	case "DELETE attachments":
		if len(path) == 3 {
			return reply(204, nil, s.storage.Detach(id, path[2]))
		}
	}
	return 0, unknown(r)
}

func reply(status int, answer any, err error) (int, any) {
	if err != nil {
		return 0, err
	}
	return status, answer
}

func statusOf(isNew bool) int {
	if isNew {
		return 201
	}
	return 200
}

// list returns a page of volumes. The token of the next page is the last id, with a mark that tells it from other texts.
func (s *server) list(query url.Values) (int, any) {
	limit, err := readLimit(query)
	if err != nil {
		return 0, err
	}
	after := ""
	if token := query.Get("pageToken"); token != "" {
		text, err := base64.RawURLEncoding.DecodeString(token)
		id, isOurs := strings.CutPrefix(string(text), "after ")
		if err != nil || !isOurs {
			return 0, problemf("ABORTED", "the page token is not from this list: read the list again from the start")
		}
		after = id
	}
	ids := s.storage.IDs(after)
	page := object{}
	if len(ids) > limit {
		ids = ids[:limit]
		page["nextPageToken"] = base64.RawURLEncoding.EncodeToString([]byte("after " + ids[limit-1]))
	}
	volumes := []Volume{}
	for _, id := range ids {
		volumes = append(volumes, s.storage.volumes[id].Volume)
	}
	page["volumes"] = volumes
	return 200, page
}

func (s *server) limits() object {
	return object{"minimumVolumeBytes": step, "maximumVolumeBytes": s.storage.capacity, "stepBytes": step}
}

func (s *server) capabilities() object {
	schema := func(name string) object {
		return object{"type": "object", "properties": object{name: object{"type": "string"}}, "additionalProperties": false}
	}
	return object{
		"version": "1.0.0", "features": []string{"capacity", "expand", "modify"}, "accessModes": accessModes,
		"accessTypes": accessTypes, "protocols": []string{"loop"}, "zeroed": true, "limits": s.limits(),
		"parameters": object{"volume": schema("department"), "mutable": schema("label")},
	}
}

func (s *server) capacity(text []byte) (int, any) {
	if _, err := readBody(text, (*CapacitySpec).isValid); err != nil {
		return 0, err
	}
	answer := s.limits()
	answer["availableBytes"] = max(0, s.storage.freeBytes())
	return 200, answer
}
