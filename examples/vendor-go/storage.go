package main

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"
)

const step = 1 << 20

// Volume is a volume as callers see it.
type Volume struct {
	ID                string            `json:"id"`
	Name              string            `json:"name"`
	State             string            `json:"state"`
	SizeBytes         int64             `json:"sizeBytes"`
	Parameters        map[string]string `json:"parameters"`
	MutableParameters map[string]string `json:"mutableParameters"`
	Context           map[string]string `json:"context"`
	Attachments       []Attached        `json:"attachments"`
	CreatedAt         string            `json:"createdAt"`
	NeedsNode         bool              `json:"nodeExpansionRequired,omitempty"`
}

// Attached is an attachment in a volume.
type Attached struct {
	NodeID   string `json:"nodeId"`
	State    string `json:"state"`
	Readonly bool   `json:"readonly"`
}

// Attachment has the protocol and the address of a volume for a node.
type Attachment struct {
	Protocol     string `json:"protocol"`
	Path         string `json:"path"`
	AttachmentID string `json:"attachmentId"`
	SizeBytes    int64  `json:"sizeBytes"`
	Readonly     bool   `json:"readonly"`
	MayFormat    bool   `json:"mayFormat"`
}

// AttachmentResource is a volume on a node.
type AttachmentResource struct {
	VolumeID   string     `json:"volumeId"`
	NodeID     string     `json:"nodeId"`
	State      string     `json:"state"`
	Readonly   bool       `json:"readonly"`
	Attachment Attachment `json:"attachment"`
}

// record is a volume as it is stored, with the requests that repetitions are compared with.
type record struct {
	Volume     Volume              `json:"volume"`
	Initial    map[string]string   `json:"initial"`
	HoldsData  bool                `json:"holdsData"`
	AttachSpec *AttachmentSpec     `json:"attachSpec,omitempty"`
	Resource   *AttachmentResource `json:"resource,omitempty"`
}

// Storage holds volumes: sparse files in a directory, with their records in one JSON file. One request works at a time.
type Storage struct {
	mutex    sync.Mutex
	dir      string
	capacity int64
	volumes  map[string]record
}

// OpenStorage reads the records, and removes files that an interrupted request has left.
func OpenStorage(dir string, capacity int64) (*Storage, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	s := &Storage{dir: dir, capacity: capacity, volumes: map[string]record{}}
	if err := os.MkdirAll(filepath.Join(dir, "volume"), 0o700); err != nil {
		return nil, err
	}
	text, err := os.ReadFile(s.stateFile())
	if err == nil {
		err = json.Unmarshal(text, &s.volumes)
	}
	if err != nil && !os.IsNotExist(err) {
		return nil, fmt.Errorf("%s: %w", s.stateFile(), err)
	}
	files, err := os.ReadDir(filepath.Join(dir, "volume"))
	for _, file := range files {
		if _, isKnown := s.volumes[strings.TrimSuffix(file.Name(), ".img")]; !isKnown {
			os.Remove(filepath.Join(dir, "volume", file.Name()))
		}
	}
	return s, err
}

func (s *Storage) stateFile() string       { return filepath.Join(s.dir, "state.json") }
func (s *Storage) pathOf(id string) string { return filepath.Join(s.dir, "volume", id+".img") }

// put stores a record, and returns once it is durable; a nil record deletes. After a failure nothing has changed.
func (s *Storage) put(id string, changed *record) error {
	next := maps.Clone(s.volumes)
	if changed == nil {
		delete(next, id)
	} else {
		next[id] = *changed
	}
	text, err := json.Marshal(next)
	if err != nil {
		return err
	}
	if err := writeDurably(s.stateFile(), text); err != nil {
		return err
	}
	s.volumes = next
	return nil
}

func (s *Storage) freeBytes() int64 {
	free := s.capacity
	for _, one := range s.volumes {
		free -= one.Volume.SizeBytes
	}
	return free
}

func (s *Storage) find(id string) (record, error) {
	if found, isThere := s.volumes[id]; isThere {
		return found, nil
	}
	return record{}, problemf("NOT_FOUND", "there is no volume %q", id)
}

// chooseSize returns a size within the bounds, or a Problem. The volume has heldBytes already.
func (s *Storage) chooseSize(bounds SizeSpec, heldBytes int64) (int64, error) {
	least, most := max(bounds.RequiredBytes, 1), s.capacity
	if bounds.LimitBytes > 0 {
		most = min(most, bounds.LimitBytes)
	}
	if bounds.RequiredBytes == 0 {
		least = max(1, min(1<<30, most/step*step))
	}
	if least > most || (least+step-1)/step*step > most {
		return 0, problemf("OUT_OF_RANGE", "no size from %d to %d bytes is possible", least, most)
	}
	size := (least + step - 1) / step * step
	if size-heldBytes > s.freeBytes() {
		return 0, problemf("RESOURCE_EXHAUSTED", "only %d of %d bytes are free", s.freeBytes(), size-heldBytes)
	}
	return size, nil
}

func isWithin(size int64, bounds SizeSpec) bool {
	return size >= bounds.RequiredBytes && (bounds.LimitBytes == 0 || size <= bounds.LimitBytes)
}

// Create makes a volume (true), or confirms that it exists as requested (false).
func (s *Storage) Create(id string, spec VolumeSpec) (Volume, bool, error) {
	parameters, initial := orEmpty(spec.Parameters), orEmpty(spec.MutableParameters)
	if found, isThere := s.volumes[id]; isThere {
		isSame := found.Volume.Name == spec.Name && maps.Equal(found.Volume.Parameters, parameters) &&
			maps.Equal(found.Initial, initial) && isWithin(found.Volume.SizeBytes, spec.SizeSpec) && spec.Source == nil
		if !isSame {
			return Volume{}, false, problemf("ALREADY_EXISTS", "volume %q exists with other settings", id)
		}
		return found.Volume, false, nil
	}
	if spec.Source != nil {
		return Volume{}, false, problemf("INVALID_ARGUMENT", "volumes from a source are not offered")
	}
	if err := requireKnown(parameters, "department"); err != nil {
		return Volume{}, false, err
	}
	if err := requireKnown(initial, "label"); err != nil {
		return Volume{}, false, err
	}
	size, err := s.chooseSize(spec.SizeSpec, 0)
	if err != nil {
		return Volume{}, false, err
	}
	// A file without a record may be there; its bytes must not come back.
	if err := os.Remove(s.pathOf(id)); err != nil && !os.IsNotExist(err) {
		return Volume{}, false, err
	}
	if err := resize(s.pathOf(id), size); err != nil {
		return Volume{}, false, err
	}
	volume := Volume{ID: id, Name: spec.Name, State: "ready", SizeBytes: size, Parameters: parameters,
		MutableParameters: initial, Context: map[string]string{}, Attachments: []Attached{},
		CreatedAt: time.Now().UTC().Format("2006-01-02T15:04:05.000Z")}
	return volume, true, s.put(id, &record{Volume: volume, Initial: initial})
}

// Delete removes the record first: a file without a record is removed at the next start.
func (s *Storage) Delete(id string) error {
	found, isThere := s.volumes[id]
	if !isThere {
		return nil
	}
	if found.Resource != nil {
		return attachedTo(id, found.Resource.NodeID)
	}
	if err := s.put(id, nil); err != nil {
		return err
	}
	return os.Remove(s.pathOf(id))
}

// Expand grows a volume that is too small for the bounds.
func (s *Storage) Expand(id string, bounds SizeSpec) (Volume, error) {
	found, err := s.find(id)
	if err != nil || isWithin(found.Volume.SizeBytes, bounds) {
		return found.Volume, err
	}
	if bounds.LimitBytes > 0 && found.Volume.SizeBytes > bounds.LimitBytes {
		return Volume{}, problemf("OUT_OF_RANGE", "volume %q has %d bytes already", id, found.Volume.SizeBytes)
	}
	size, err := s.chooseSize(bounds, found.Volume.SizeBytes)
	if err != nil {
		return Volume{}, err
	}
	if err := resize(s.pathOf(id), size); err != nil {
		return Volume{}, err
	}
	found.Volume.SizeBytes, found.Volume.NeedsNode = size, true
	return found.Volume, s.put(id, &found)
}

// Modify changes mutable parameters.
func (s *Storage) Modify(id string, changes map[string]string) (Volume, error) {
	found, err := s.find(id)
	if err != nil {
		return Volume{}, err
	}
	if err := requireKnown(changes, "label"); err != nil {
		return Volume{}, err
	}
	found.Volume.MutableParameters = maps.Clone(found.Volume.MutableParameters)
	maps.Copy(found.Volume.MutableParameters, changes)
	return found.Volume, s.put(id, &found)
}

// Attach gives the volume to one node (true), or confirms that the node has it as requested (false).
func (s *Storage) Attach(id, nodeID string, spec AttachmentSpec) (AttachmentResource, bool, error) {
	none := AttachmentResource{}
	found, err := s.find(id)
	if err != nil {
		return none, false, err
	}
	if held := found.Resource; held != nil {
		if held.NodeID != nodeID {
			return none, false, attachedTo(id, held.NodeID)
		}
		if !reflect.DeepEqual(*found.AttachSpec, spec) {
			return none, false, problemf("ALREADY_EXISTS", "volume %q is attached differently", id)
		}
		return *held, false, nil
	}
	isRaw := spec.Capability.AccessType == "block"
	readonly := *spec.Readonly || strings.HasSuffix(spec.Capability.AccessMode, "READER_ONLY")
	attachment := Attachment{Protocol: "loop", Path: s.pathOf(id), AttachmentID: newID(),
		SizeBytes: found.Volume.SizeBytes, Readonly: readonly, MayFormat: !isRaw && !found.HoldsData}
	resource := AttachmentResource{VolumeID: id, NodeID: nodeID, State: "attached", Readonly: readonly, Attachment: attachment}
	found.HoldsData = found.HoldsData || (isRaw && !readonly)
	found.AttachSpec, found.Resource = &spec, &resource
	found.Volume.Attachments = []Attached{{NodeID: nodeID, State: "attached", Readonly: readonly}}
	return resource, true, s.put(id, &found)
}

// Attachment returns the attachment of the volume to the node.
func (s *Storage) Attachment(id, nodeID string) (AttachmentResource, error) {
	if held := s.volumes[id].Resource; held != nil && held.NodeID == nodeID {
		return *held, nil
	}
	return AttachmentResource{}, problemf("NOT_FOUND", "volume %q is not attached to node %q", id, nodeID)
}

// Detach takes the volume from the node. It refuses while a loop device has the file open: the node could still write.
func (s *Storage) Detach(id, nodeID string) error {
	found := s.volumes[id]
	if found.Resource == nil || found.Resource.NodeID != nodeID {
		return nil
	}
	files, err := filepath.Glob("/sys/block/loop*/loop/backing_file")
	if err != nil {
		return err
	}
	for _, file := range files {
		if text, _ := os.ReadFile(file); strings.TrimSuffix(string(text), "\n") == s.pathOf(id) {
			return problemf("FAILED_PRECONDITION", "volume %q is still open on node %q", id, nodeID)
		}
	}
	found.AttachSpec, found.Resource, found.Volume.Attachments = nil, nil, []Attached{}
	return s.put(id, &found)
}

// IDs returns the ids of all volumes after one id, in order.
func (s *Storage) IDs(after string) []string {
	ids := slices.Sorted(maps.Keys(s.volumes))
	from, isThere := slices.BinarySearch(ids, after)
	if isThere {
		from++
	}
	return ids[from:]
}

func attachedTo(id, nodeID string) error {
	return problemf("FAILED_PRECONDITION", "volume %q is attached to node %q", id, nodeID)
}

func requireKnown(parameters map[string]string, known string) error {
	for name := range parameters {
		if name != known {
			return problemf("INVALID_ARGUMENT", "there is no parameter %q; the only one is %q", name, known)
		}
	}
	return nil
}

func orEmpty(given map[string]string) map[string]string {
	if given == nil {
		return map[string]string{}
	}
	return given
}

func newID() string {
	bytes := make([]byte, 16)
	rand.Read(bytes)
	return fmt.Sprintf("%x", bytes)
}

// resize gives a file its size, and returns once the file and its name are durable.
func resize(path string, size int64) error {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer file.Close()
	if err := file.Truncate(size); err != nil {
		return err
	}
	if err := file.Sync(); err != nil {
		return err
	}
	return syncDirectory(filepath.Dir(path))
}

// writeDurably replaces a file by a new one, so that after a power cut there is the one or the other.
func writeDurably(path string, text []byte) error {
	file, err := os.OpenFile(path+".new", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	defer file.Close()
	if _, err := file.Write(text); err != nil {
		return err
	}
	if err := file.Sync(); err != nil {
		return err
	}
	if err := os.Rename(path+".new", path); err != nil {
		return err
	}
	return syncDirectory(filepath.Dir(path))
}

func syncDirectory(path string) error {
	directory, err := os.Open(path)
	if err != nil {
		return err
	}
	defer directory.Close()
	return directory.Sync()
}
