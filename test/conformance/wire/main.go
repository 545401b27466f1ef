// Command wire prints the protocols as the official Go packages define them, in the form that
// normal-form.ts makes from this project's .proto files.
package main

import (
	"encoding/json"
	"os"

	_ "github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	_ "k8s.io/kubelet/pkg/apis/pluginregistration/v1"
)

type object = map[string]any

func main() {
	protocols := object{}
	for _, name := range []protoreflect.FullName{"csi.v1", "pluginregistration"} {
		protoregistry.GlobalFiles.RangeFilesByPackage(name, func(file protoreflect.FileDescriptor) bool {
			protocols[string(name)] = protocol(file)
			return true
		})
	}
	if err := json.NewEncoder(os.Stdout).Encode(protocols); err != nil {
		panic(err)
	}
}

func protocol(file protoreflect.FileDescriptor) object {
	messages, enums, services, extensions := object{}, object{}, object{}, object{}
	addMessages(messages, enums, file.Messages())
	addEnums(enums, file.Enums())
	for i := range file.Services().Len() {
		service := file.Services().Get(i)
		services[string(service.FullName())] = object{"options": options(service), "methods": methods(service)}
	}
	for i := range file.Extensions().Len() {
		extension := file.Extensions().Get(i)
		described := field(extension)
		described["extends"] = extension.ContainingMessage().FullName()
		extensions[string(extension.FullName())] = described
	}
	return object{
		"options": options(file), "messages": messages, "enums": enums, "services": services, "extensions": extensions,
	}
}

func addMessages(messages, enums object, found protoreflect.MessageDescriptors) {
	for i := range found.Len() {
		message := found.Get(i)
		if message.IsMapEntry() {
			continue
		}
		fields, reserved := object{}, [][2]int32{}
		for j := range message.Fields().Len() {
			fields[string(message.Fields().Get(j).Name())] = field(message.Fields().Get(j))
		}
		for j := range message.ReservedRanges().Len() {
			first, end := message.ReservedRanges().Get(j)[0], message.ReservedRanges().Get(j)[1]
			reserved = append(reserved, [2]int32{int32(first), int32(end) - 1})
		}
		messages[string(message.FullName())] = object{
			"options": options(message), "fields": fields, "reserved": reserved, "reservedNames": names(message.ReservedNames()),
		}
		addMessages(messages, enums, message.Messages())
		addEnums(enums, message.Enums())
	}
}

func field(field protoreflect.FieldDescriptor) object {
	described := object{
		"number": field.Number(), "label": "single", "presence": field.HasPresence(), "options": options(field),
	}
	switch {
	case field.IsMap():
		described["label"] = "map"
		described["key"] = field.MapKey().Kind().String()
		described["type"] = typeOf(field.MapValue())
	case field.IsList():
		described["label"] = "repeated"
		described["type"] = typeOf(field)
	default:
		described["type"] = typeOf(field)
	}
	if oneof := field.ContainingOneof(); oneof != nil {
		described["oneof"] = oneof.Name()
	}
	return described
}

func typeOf(field protoreflect.FieldDescriptor) string {
	switch field.Kind() {
	case protoreflect.MessageKind:
		return "message " + string(field.Message().FullName())
	case protoreflect.EnumKind:
		return "enum " + string(field.Enum().FullName())
	default:
		return field.Kind().String()
	}
}

func addEnums(enums object, found protoreflect.EnumDescriptors) {
	for i := range found.Len() {
		enum := found.Get(i)
		values, reserved := object{}, [][2]int32{}
		for j := range enum.Values().Len() {
			value := enum.Values().Get(j)
			values[string(value.Name())] = object{"number": value.Number(), "options": options(value)}
		}
		for j := range enum.ReservedRanges().Len() {
			first, last := enum.ReservedRanges().Get(j)[0], enum.ReservedRanges().Get(j)[1]
			reserved = append(reserved, [2]int32{int32(first), int32(last)})
		}
		enums[string(enum.FullName())] = object{
			"options": options(enum), "values": values, "reserved": reserved, "reservedNames": names(enum.ReservedNames()),
		}
	}
}

func methods(service protoreflect.ServiceDescriptor) object {
	described := object{}
	for i := range service.Methods().Len() {
		method := service.Methods().Get(i)
		described[string(method.Name())] = object{
			"input": method.Input().FullName(), "output": method.Output().FullName(),
			"requestStream": method.IsStreamingClient(), "responseStream": method.IsStreamingServer(),
			"options": options(method),
		}
	}
	return described
}

// All options that are set, the protocol's own ones by their full names.
func options(described protoreflect.Descriptor) object {
	set := object{}
	described.Options().ProtoReflect().Range(func(option protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		name := string(option.Name())
		if option.IsExtension() {
			name = string(option.FullName())
		}
		set[name] = value.Interface()
		return true
	})
	return set
}

func names(found protoreflect.Names) []string {
	list := []string{}
	for i := range found.Len() {
		list = append(list, string(found.Get(i)))
	}
	return list
}
