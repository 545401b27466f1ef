package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"unicode/utf8"
)

// SizeSpec bounds a size; 0 is no bound.
type SizeSpec struct {
	RequiredBytes int64 `json:"requiredBytes"`
	LimitBytes    int64 `json:"limitBytes"`
}

// Capability is one way to use a volume.
type Capability struct {
	AccessType string   `json:"accessType"`
	AccessMode string   `json:"accessMode"`
	FsType     string   `json:"fsType"`
	MountFlags []string `json:"mountFlags"`
}

// Topology is read and ignored: all nodes reach all volumes.
type Topology struct {
	Requisite []map[string]string `json:"requisite"`
	Preferred []map[string]string `json:"preferred"`
}

// Source is the origin of a copy, which this server does not offer.
type Source struct {
	Kind       string `json:"kind"`
	VolumeID   string `json:"volumeId"`
	SnapshotID string `json:"snapshotId"`
}

// VolumeSpec is the request for a new volume.
type VolumeSpec struct {
	SizeSpec
	Name              string            `json:"name"`
	Capabilities      []Capability      `json:"capabilities"`
	Parameters        map[string]string `json:"parameters"`
	MutableParameters map[string]string `json:"mutableParameters"`
	Source            *Source           `json:"source"`
	Topology          *Topology         `json:"topology"`
}

// AttachmentSpec is the request for an attachment.
type AttachmentSpec struct {
	Capability Capability `json:"capability"`
	Readonly   *bool      `json:"readonly"`
}

// ParametersSpec is the request that modifies a volume.
type ParametersSpec struct {
	MutableParameters map[string]string `json:"mutableParameters"`
}

// CapacitySpec is the request for the capacity; all volumes share one.
type CapacitySpec struct {
	Capabilities []Capability      `json:"capabilities"`
	Parameters   map[string]string `json:"parameters"`
	Topology     map[string]string `json:"topology"`
}

var accessModes = []string{"SINGLE_NODE_WRITER", "SINGLE_NODE_READER_ONLY", "SINGLE_NODE_SINGLE_WRITER", "SINGLE_NODE_MULTI_WRITER"}
var accessTypes = []string{"mount", "block"}

var resourceID = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._~-]{0,127}$`)
var control = regexp.MustCompile(`[\x00-\x1f\x7f-\x{9f}]`)

const maxNodeID, maxName = 256, 128

// readBody reads a JSON body without unknown members, and checks it.
func readBody[T any](text []byte, isValid func(*T) bool) (*T, error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	body := new(T)
	if err := decoder.Decode(body); err != nil {
		return nil, problemf("INVALID_ARGUMENT", "the body is not a request of this operation: %v", err)
	}
	if _, err := decoder.Token(); err != io.EOF {
		return nil, problemf("INVALID_ARGUMENT", "the body has more than one JSON value")
	}
	if !isValid(body) {
		return nil, problemf("INVALID_ARGUMENT", "a member of the body is missing, or has a value that is not possible")
	}
	return body, nil
}

func isOffered(one Capability) bool {
	return slices.Contains(accessModes, one.AccessMode) && slices.Contains(accessTypes, one.AccessType)
}

func (spec *VolumeSpec) isValid() bool {
	isName := spec.Name != "" && len(spec.Name) <= maxName
	areOffered := len(spec.Capabilities) > 0 && !slices.ContainsFunc(spec.Capabilities, func(one Capability) bool { return !isOffered(one) })
	return isName && areOffered && spec.SizeSpec.isValid()
}

func (spec *SizeSpec) isValid() bool { return spec.RequiredBytes >= 0 && spec.LimitBytes >= 0 }

func (spec *AttachmentSpec) isValid() bool { return spec.Readonly != nil && isOffered(spec.Capability) }

func (spec *ParametersSpec) isValid() bool { return spec.MutableParameters != nil }

func (spec *CapacitySpec) isValid() bool { return true }

func isNodeID(id string) bool {
	return id != "" && len(id) <= maxNodeID && utf8.ValidString(id) && !control.MatchString(id)
}

// readLimit reads the number of entries of a page.
func readLimit(query url.Values) (int, error) {
	const most = 1000
	if !query.Has("limit") {
		return most, nil
	}
	limit, err := strconv.Atoi(query.Get("limit"))
	if err != nil || limit < 0 {
		return 0, problemf("INVALID_ARGUMENT", "limit is a whole number from 0, not %q", query.Get("limit"))
	}
	if limit == 0 || limit > most {
		return most, nil
	}
	return limit, nil
}
