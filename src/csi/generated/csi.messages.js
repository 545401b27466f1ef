// Generated from proto/csi.proto. Do not edit.
/*eslint-disable block-scoped-var, id-length, no-control-regex, no-magic-numbers, no-prototype-builtins, no-redeclare, no-shadow, no-var, sort-vars*/
import $protobuf from "protobufjs/minimal.js";

const $Reader = $protobuf.Reader, $Writer = $protobuf.Writer, $util = $protobuf.util;

const $root = $protobuf.roots["csi"] || ($protobuf.roots["csi"] = {});

export const csi = $root.csi = (() => {

const csi = {};

csi.v1 = (function() {

const v1 = {};

v1.GetPluginInfoRequest = (function() {

function GetPluginInfoRequest(properties) {
if (properties)
for (let keys = Object.keys(properties), i = 0; i < keys.length; ++i)
if (properties[keys[i]] != null && keys[i] !== "__proto__")
this[keys[i]] = properties[keys[i]];
}

GetPluginInfoRequest.encode = function encode(message, writer, q) {
if (!writer)
writer = $Writer.create();
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
return writer;
};

GetPluginInfoRequest.decode = function decode(reader, length, error, long) {
if (!(reader instanceof $Reader))
reader = $Reader.create(reader);
if (long === undefined)
long = 0;
if (long > $Reader.recursionLimit)
throw Error("maximum nesting depth exceeded");
let end, message;
if (length === undefined)
end = reader.len;
else {
end = reader.pos + length;
if (end > reader.len)
throw RangeError("index out of range");
length = reader.len;
reader.len = end;
}
message = new $root.csi.v1.GetPluginInfoRequest();
while (reader.pos < end) {
let tag = reader.uint32();
if (tag === error)
break;
switch (tag >>> 3) {
default:
reader.skipType(tag & 7, long);
break;
}
}
if (length !== undefined) {
if (reader.pos !== end)
throw RangeError("index out of range");
reader.len = length;
}
return message;
};

GetPluginInfoRequest.fromObject = function fromObject(object, long) {
if (object instanceof $root.csi.v1.GetPluginInfoRequest)
return object;
return new $root.csi.v1.GetPluginInfoRequest();
};

GetPluginInfoRequest.toObject = function toObject() {
return {};
};

GetPluginInfoRequest.prototype.toJSON = function toJSON() {
return this.constructor.toObject(this, $protobuf.util.toJSONOptions);
};

return GetPluginInfoRequest;
})();

v1.GetPluginInfoResponse = (function() {

function GetPluginInfoResponse(properties) {
this.manifest = {};
if (properties)
for (let keys = Object.keys(properties), i = 0; i < keys.length; ++i)
if (properties[keys[i]] != null && keys[i] !== "__proto__")
this[keys[i]] = properties[keys[i]];
}

GetPluginInfoResponse.prototype.name = "";
GetPluginInfoResponse.prototype.vendor_version = "";
GetPluginInfoResponse.prototype.manifest = $util.emptyObject;

GetPluginInfoResponse.encode = function encode(message, writer, q) {
if (!writer)
writer = $Writer.create();
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
if (message.name != null && Object.hasOwnProperty.call(message, "name"))
writer.uint32(10).string(message.name);
if (message.vendor_version != null && Object.hasOwnProperty.call(message, "vendor_version"))
writer.uint32(18).string(message.vendor_version);
if (message.manifest != null && Object.hasOwnProperty.call(message, "manifest"))
for (let keys = Object.keys(message.manifest), i = 0; i < keys.length; ++i)
writer.uint32(26).fork().uint32(10).string(keys[i]).uint32(18).string(message.manifest[keys[i]]).ldelim();
return writer;
};

GetPluginInfoResponse.decode = function decode(reader, length, error, long) {
if (!(reader instanceof $Reader))
reader = $Reader.create(reader);
if (long === undefined)
long = 0;
if (long > $Reader.recursionLimit)
throw Error("maximum nesting depth exceeded");
let end, message, key, value;
if (length === undefined)
end = reader.len;
else {
end = reader.pos + length;
if (end > reader.len)
throw RangeError("index out of range");
length = reader.len;
reader.len = end;
}
message = new $root.csi.v1.GetPluginInfoResponse();
while (reader.pos < end) {
let tag = reader.uint32();
if (tag === error)
break;
switch (tag >>> 3) {
case 1: {
message.name = reader.string();
break;
}
case 2: {
message.vendor_version = reader.string();
break;
}
case 3: {
if (message.manifest === $util.emptyObject)
message.manifest = {};
let end2 = reader.uint32() + reader.pos;
if (end2 > reader.len)
throw RangeError("index out of range");
reader.len = end2;
key = "";
value = "";
while (reader.pos < end2) {
let tag2 = reader.uint32();
switch (tag2 >>> 3) {
case 1:
key = reader.string();
break;
case 2:
value = reader.string();
break;
default:
reader.skipType(tag2 & 7, long);
break;
}
}
if (reader.pos !== end2)
throw RangeError("index out of range");
reader.len = end;
if (key === "__proto__")
$util.makeProp(message.manifest, key);
message.manifest[key] = value;
break;
}
default:
reader.skipType(tag & 7, long);
break;
}
}
if (length !== undefined) {
if (reader.pos !== end)
throw RangeError("index out of range");
reader.len = length;
}
return message;
};

GetPluginInfoResponse.fromObject = function fromObject(object, long) {
if (object instanceof $root.csi.v1.GetPluginInfoResponse)
return object;
if (!$util.isObject(object))
throw TypeError(".csi.v1.GetPluginInfoResponse: object expected");
if (long === undefined)
long = 0;
if (long > $util.recursionLimit)
throw Error("maximum nesting depth exceeded");
let message = new $root.csi.v1.GetPluginInfoResponse();
if (object.name != null)
message.name = String(object.name);
if (object.vendor_version != null)
message.vendor_version = String(object.vendor_version);
if (object.manifest) {
if (!$util.isObject(object.manifest))
throw TypeError(".csi.v1.GetPluginInfoResponse.manifest: object expected");
message.manifest = {};
for (let keys = Object.keys(object.manifest), i = 0; i < keys.length; ++i) {
if (keys[i] === "__proto__")
$util.makeProp(message.manifest, keys[i]);
message.manifest[keys[i]] = String(object.manifest[keys[i]]);
}
}
return message;
};

GetPluginInfoResponse.toObject = function toObject(message, options, q) {
if (!options)
options = {};
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
let object = {};
if (options.objects || options.defaults)
object.manifest = {};
if (options.defaults) {
object.name = "";
object.vendor_version = "";
}
if (message.name != null && Object.hasOwnProperty.call(message, "name"))
object.name = message.name;
if (message.vendor_version != null && Object.hasOwnProperty.call(message, "vendor_version"))
object.vendor_version = message.vendor_version;
let keys2;
if (message.manifest && (keys2 = Object.keys(message.manifest)).length) {
object.manifest = {};
for (let j = 0; j < keys2.length; ++j) {
if (keys2[j] === "__proto__")
$util.makeProp(object.manifest, keys2[j]);
object.manifest[keys2[j]] = message.manifest[keys2[j]];
}
}
return object;
};

GetPluginInfoResponse.prototype.toJSON = function toJSON() {
return this.constructor.toObject(this, $protobuf.util.toJSONOptions);
};

return GetPluginInfoResponse;
})();

v1.GetPluginCapabilitiesRequest = (function() {

function GetPluginCapabilitiesRequest(properties) {
if (properties)
for (let keys = Object.keys(properties), i = 0; i < keys.length; ++i)
if (properties[keys[i]] != null && keys[i] !== "__proto__")
this[keys[i]] = properties[keys[i]];
}

GetPluginCapabilitiesRequest.encode = function encode(message, writer, q) {
if (!writer)
writer = $Writer.create();
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
return writer;
};

GetPluginCapabilitiesRequest.decode = function decode(reader, length, error, long) {
if (!(reader instanceof $Reader))
reader = $Reader.create(reader);
if (long === undefined)
long = 0;
if (long > $Reader.recursionLimit)
throw Error("maximum nesting depth exceeded");
let end, message;
if (length === undefined)
end = reader.len;
else {
end = reader.pos + length;
if (end > reader.len)
throw RangeError("index out of range");
length = reader.len;
reader.len = end;
}
message = new $root.csi.v1.GetPluginCapabilitiesRequest();
while (reader.pos < end) {
let tag = reader.uint32();
if (tag === error)
break;
switch (tag >>> 3) {
default:
reader.skipType(tag & 7, long);
break;
}
}
if (length !== undefined) {
if (reader.pos !== end)
throw RangeError("index out of range");
reader.len = length;
}
return message;
};

GetPluginCapabilitiesRequest.fromObject = function fromObject(object, long) {
if (object instanceof $root.csi.v1.GetPluginCapabilitiesRequest)
return object;
return new $root.csi.v1.GetPluginCapabilitiesRequest();
};

GetPluginCapabilitiesRequest.toObject = function toObject() {
return {};
};

GetPluginCapabilitiesRequest.prototype.toJSON = function toJSON() {
return this.constructor.toObject(this, $protobuf.util.toJSONOptions);
};

return GetPluginCapabilitiesRequest;
})();

v1.GetPluginCapabilitiesResponse = (function() {

function GetPluginCapabilitiesResponse(properties) {
this.capabilities = [];
if (properties)
for (let keys = Object.keys(properties), i = 0; i < keys.length; ++i)
if (properties[keys[i]] != null && keys[i] !== "__proto__")
this[keys[i]] = properties[keys[i]];
}

GetPluginCapabilitiesResponse.prototype.capabilities = $util.emptyArray;

GetPluginCapabilitiesResponse.encode = function encode(message, writer, q) {
if (!writer)
writer = $Writer.create();
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
if (message.capabilities != null && message.capabilities.length)
for (let i = 0; i < message.capabilities.length; ++i)
$root.csi.v1.PluginCapability.encode(message.capabilities[i], writer.uint32(10).fork(), q + 1).ldelim();
return writer;
};

GetPluginCapabilitiesResponse.decode = function decode(reader, length, error, long) {
if (!(reader instanceof $Reader))
reader = $Reader.create(reader);
if (long === undefined)
long = 0;
if (long > $Reader.recursionLimit)
throw Error("maximum nesting depth exceeded");
let end, message;
if (length === undefined)
end = reader.len;
else {
end = reader.pos + length;
if (end > reader.len)
throw RangeError("index out of range");
length = reader.len;
reader.len = end;
}
message = new $root.csi.v1.GetPluginCapabilitiesResponse();
while (reader.pos < end) {
let tag = reader.uint32();
if (tag === error)
break;
switch (tag >>> 3) {
case 1: {
if (!(message.capabilities && message.capabilities.length))
message.capabilities = [];
message.capabilities.push($root.csi.v1.PluginCapability.decode(reader, reader.uint32(), undefined, long + 1));
break;
}
default:
reader.skipType(tag & 7, long);
break;
}
}
if (length !== undefined) {
if (reader.pos !== end)
throw RangeError("index out of range");
reader.len = length;
}
return message;
};

GetPluginCapabilitiesResponse.fromObject = function fromObject(object, long) {
if (object instanceof $root.csi.v1.GetPluginCapabilitiesResponse)
return object;
if (!$util.isObject(object))
throw TypeError(".csi.v1.GetPluginCapabilitiesResponse: object expected");
if (long === undefined)
long = 0;
if (long > $util.recursionLimit)
throw Error("maximum nesting depth exceeded");
let message = new $root.csi.v1.GetPluginCapabilitiesResponse();
if (object.capabilities) {
if (!Array.isArray(object.capabilities))
throw TypeError(".csi.v1.GetPluginCapabilitiesResponse.capabilities: array expected");
message.capabilities = [];
for (let i = 0; i < object.capabilities.length; ++i) {
if (!$util.isObject(object.capabilities[i]))
throw TypeError(".csi.v1.GetPluginCapabilitiesResponse.capabilities: object expected");
message.capabilities[i] = $root.csi.v1.PluginCapability.fromObject(object.capabilities[i], long + 1);
}
}
return message;
};

GetPluginCapabilitiesResponse.toObject = function toObject(message, options, q) {
if (!options)
options = {};
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
let object = {};
if (options.arrays || options.defaults)
object.capabilities = [];
if (message.capabilities && message.capabilities.length) {
object.capabilities = [];
for (let j = 0; j < message.capabilities.length; ++j)
object.capabilities[j] = $root.csi.v1.PluginCapability.toObject(message.capabilities[j], options, q + 1);
}
return object;
};

GetPluginCapabilitiesResponse.prototype.toJSON = function toJSON() {
return this.constructor.toObject(this, $protobuf.util.toJSONOptions);
};

return GetPluginCapabilitiesResponse;
})();

v1.PluginCapability = (function() {

function PluginCapability(properties) {
if (properties)
for (let keys = Object.keys(properties), i = 0; i < keys.length; ++i)
if (properties[keys[i]] != null && keys[i] !== "__proto__")
this[keys[i]] = properties[keys[i]];
}

PluginCapability.prototype.service = null;
PluginCapability.prototype.volume_expansion = null;

let $oneOfFields;

Object.defineProperty(PluginCapability.prototype, "type", {
get: $util.oneOfGetter($oneOfFields = ["service", "volume_expansion"]),
set: $util.oneOfSetter($oneOfFields)
});

PluginCapability.encode = function encode(message, writer, q) {
if (!writer)
writer = $Writer.create();
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
if (message.service != null && Object.hasOwnProperty.call(message, "service"))
$root.csi.v1.PluginCapability.Service.encode(message.service, writer.uint32(10).fork(), q + 1).ldelim();
if (message.volume_expansion != null && Object.hasOwnProperty.call(message, "volume_expansion"))
$root.csi.v1.PluginCapability.VolumeExpansion.encode(message.volume_expansion, writer.uint32(18).fork(), q + 1).ldelim();
return writer;
};

PluginCapability.decode = function decode(reader, length, error, long) {
if (!(reader instanceof $Reader))
reader = $Reader.create(reader);
if (long === undefined)
long = 0;
if (long > $Reader.recursionLimit)
throw Error("maximum nesting depth exceeded");
let end, message;
if (length === undefined)
end = reader.len;
else {
end = reader.pos + length;
if (end > reader.len)
throw RangeError("index out of range");
length = reader.len;
reader.len = end;
}
message = new $root.csi.v1.PluginCapability();
while (reader.pos < end) {
let tag = reader.uint32();
if (tag === error)
break;
switch (tag >>> 3) {
case 1: {
message.service = $root.csi.v1.PluginCapability.Service.decode(reader, reader.uint32(), undefined, long + 1);
break;
}
case 2: {
message.volume_expansion = $root.csi.v1.PluginCapability.VolumeExpansion.decode(reader, reader.uint32(), undefined, long + 1);
break;
}
default:
reader.skipType(tag & 7, long);
break;
}
}
if (length !== undefined) {
if (reader.pos !== end)
throw RangeError("index out of range");
reader.len = length;
}
return message;
};

PluginCapability.fromObject = function fromObject(object, long) {
if (object instanceof $root.csi.v1.PluginCapability)
return object;
if (!$util.isObject(object))
throw TypeError(".csi.v1.PluginCapability: object expected");
if (long === undefined)
long = 0;
if (long > $util.recursionLimit)
throw Error("maximum nesting depth exceeded");
let message = new $root.csi.v1.PluginCapability();
if (object.service != null) {
if (!$util.isObject(object.service))
throw TypeError(".csi.v1.PluginCapability.service: object expected");
message.service = $root.csi.v1.PluginCapability.Service.fromObject(object.service, long + 1);
}
if (object.volume_expansion != null) {
if (!$util.isObject(object.volume_expansion))
throw TypeError(".csi.v1.PluginCapability.volume_expansion: object expected");
message.volume_expansion = $root.csi.v1.PluginCapability.VolumeExpansion.fromObject(object.volume_expansion, long + 1);
}
return message;
};

PluginCapability.toObject = function toObject(message, options, q) {
if (!options)
options = {};
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
let object = {};
if (message.service != null && Object.hasOwnProperty.call(message, "service")) {
object.service = $root.csi.v1.PluginCapability.Service.toObject(message.service, options, q + 1);
if (options.oneofs)
object.type = "service";
}
if (message.volume_expansion != null && Object.hasOwnProperty.call(message, "volume_expansion")) {
object.volume_expansion = $root.csi.v1.PluginCapability.VolumeExpansion.toObject(message.volume_expansion, options, q + 1);
if (options.oneofs)
object.type = "volume_expansion";
}
return object;
};

PluginCapability.prototype.toJSON = function toJSON() {
return this.constructor.toObject(this, $protobuf.util.toJSONOptions);
};

PluginCapability.Service = (function() {

function Service(properties) {
if (properties)
for (let keys = Object.keys(properties), i = 0; i < keys.length; ++i)
if (properties[keys[i]] != null && keys[i] !== "__proto__")
this[keys[i]] = properties[keys[i]];
}

Service.prototype.type = 0;

Service.encode = function encode(message, writer, q) {
if (!writer)
writer = $Writer.create();
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
if (message.type != null && Object.hasOwnProperty.call(message, "type"))
writer.uint32(8).int32(message.type);
return writer;
};

Service.decode = function decode(reader, length, error, long) {
if (!(reader instanceof $Reader))
reader = $Reader.create(reader);
if (long === undefined)
long = 0;
if (long > $Reader.recursionLimit)
throw Error("maximum nesting depth exceeded");
let end, message;
if (length === undefined)
end = reader.len;
else {
end = reader.pos + length;
if (end > reader.len)
throw RangeError("index out of range");
length = reader.len;
reader.len = end;
}
message = new $root.csi.v1.PluginCapability.Service();
while (reader.pos < end) {
let tag = reader.uint32();
if (tag === error)
break;
switch (tag >>> 3) {
case 1: {
message.type = reader.int32();
break;
}
default:
reader.skipType(tag & 7, long);
break;
}
}
if (length !== undefined) {
if (reader.pos !== end)
throw RangeError("index out of range");
reader.len = length;
}
return message;
};

Service.fromObject = function fromObject(object, long) {
if (object instanceof $root.csi.v1.PluginCapability.Service)
return object;
if (!$util.isObject(object))
throw TypeError(".csi.v1.PluginCapability.Service: object expected");
if (long === undefined)
long = 0;
if (long > $util.recursionLimit)
throw Error("maximum nesting depth exceeded");
let message = new $root.csi.v1.PluginCapability.Service();
switch (object.type) {
default:
if (typeof object.type === "number") {
message.type = object.type;
break;
}
break;
case "UNKNOWN":
case 0:
message.type = 0;
break;
case "CONTROLLER_SERVICE":
case 1:
message.type = 1;
break;
case "VOLUME_ACCESSIBILITY_CONSTRAINTS":
case 2:
message.type = 2;
break;
case "GROUP_CONTROLLER_SERVICE":
case 3:
message.type = 3;
break;
case "SNAPSHOT_METADATA_SERVICE":
case 4:
message.type = 4;
break;
case "SNAPSHOT_ACCESSIBILITY_CONSTRAINTS":
case 5:
message.type = 5;
break;
}
return message;
};

Service.toObject = function toObject(message, options, q) {
if (!options)
options = {};
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
let object = {};
if (options.defaults)
object.type = options.enums === String ? "UNKNOWN" : 0;
if (message.type != null && Object.hasOwnProperty.call(message, "type"))
object.type = options.enums === String ? $root.csi.v1.PluginCapability.Service.Type[message.type] === undefined ? message.type : $root.csi.v1.PluginCapability.Service.Type[message.type] : message.type;
return object;
};

Service.prototype.toJSON = function toJSON() {
return this.constructor.toObject(this, $protobuf.util.toJSONOptions);
};

Service.Type = (function() {
const valuesById = {}, values = Object.create(valuesById);
values[valuesById[0] = "UNKNOWN"] = 0;
values[valuesById[1] = "CONTROLLER_SERVICE"] = 1;
values[valuesById[2] = "VOLUME_ACCESSIBILITY_CONSTRAINTS"] = 2;
values[valuesById[3] = "GROUP_CONTROLLER_SERVICE"] = 3;
values[valuesById[4] = "SNAPSHOT_METADATA_SERVICE"] = 4;
values[valuesById[5] = "SNAPSHOT_ACCESSIBILITY_CONSTRAINTS"] = 5;
return values;
})();

return Service;
})();

PluginCapability.VolumeExpansion = (function() {

function VolumeExpansion(properties) {
if (properties)
for (let keys = Object.keys(properties), i = 0; i < keys.length; ++i)
if (properties[keys[i]] != null && keys[i] !== "__proto__")
this[keys[i]] = properties[keys[i]];
}

VolumeExpansion.prototype.type = 0;

VolumeExpansion.encode = function encode(message, writer, q) {
if (!writer)
writer = $Writer.create();
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
if (message.type != null && Object.hasOwnProperty.call(message, "type"))
writer.uint32(8).int32(message.type);
return writer;
};

VolumeExpansion.decode = function decode(reader, length, error, long) {
if (!(reader instanceof $Reader))
reader = $Reader.create(reader);
if (long === undefined)
long = 0;
if (long > $Reader.recursionLimit)
throw Error("maximum nesting depth exceeded");
let end, message;
if (length === undefined)
end = reader.len;
else {
end = reader.pos + length;
if (end > reader.len)
throw RangeError("index out of range");
length = reader.len;
reader.len = end;
}
message = new $root.csi.v1.PluginCapability.VolumeExpansion();
while (reader.pos < end) {
let tag = reader.uint32();
if (tag === error)
break;
switch (tag >>> 3) {
case 1: {
message.type = reader.int32();
break;
}
default:
reader.skipType(tag & 7, long);
break;
}
}
if (length !== undefined) {
if (reader.pos !== end)
throw RangeError("index out of range");
reader.len = length;
}
return message;
};

VolumeExpansion.fromObject = function fromObject(object, long) {
if (object instanceof $root.csi.v1.PluginCapability.VolumeExpansion)
return object;
if (!$util.isObject(object))
throw TypeError(".csi.v1.PluginCapability.VolumeExpansion: object expected");
if (long === undefined)
long = 0;
if (long > $util.recursionLimit)
throw Error("maximum nesting depth exceeded");
let message = new $root.csi.v1.PluginCapability.VolumeExpansion();
switch (object.type) {
default:
if (typeof object.type === "number") {
message.type = object.type;
break;
}
break;
case "UNKNOWN":
case 0:
message.type = 0;
break;
case "ONLINE":
case 1:
message.type = 1;
break;
case "OFFLINE":
case 2:
message.type = 2;
break;
}
return message;
};

VolumeExpansion.toObject = function toObject(message, options, q) {
if (!options)
options = {};
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
let object = {};
if (options.defaults)
object.type = options.enums === String ? "UNKNOWN" : 0;
if (message.type != null && Object.hasOwnProperty.call(message, "type"))
object.type = options.enums === String ? $root.csi.v1.PluginCapability.VolumeExpansion.Type[message.type] === undefined ? message.type : $root.csi.v1.PluginCapability.VolumeExpansion.Type[message.type] : message.type;
return object;
};

VolumeExpansion.prototype.toJSON = function toJSON() {
return this.constructor.toObject(this, $protobuf.util.toJSONOptions);
};

VolumeExpansion.Type = (function() {
const valuesById = {}, values = Object.create(valuesById);
values[valuesById[0] = "UNKNOWN"] = 0;
values[valuesById[1] = "ONLINE"] = 1;
values[valuesById[2] = "OFFLINE"] = 2;
return values;
})();

return VolumeExpansion;
})();

return PluginCapability;
})();

v1.ProbeRequest = (function() {

function ProbeRequest(properties) {
if (properties)
for (let keys = Object.keys(properties), i = 0; i < keys.length; ++i)
if (properties[keys[i]] != null && keys[i] !== "__proto__")
this[keys[i]] = properties[keys[i]];
}

ProbeRequest.encode = function encode(message, writer, q) {
if (!writer)
writer = $Writer.create();
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
return writer;
};

ProbeRequest.decode = function decode(reader, length, error, long) {
if (!(reader instanceof $Reader))
reader = $Reader.create(reader);
if (long === undefined)
long = 0;
if (long > $Reader.recursionLimit)
throw Error("maximum nesting depth exceeded");
let end, message;
if (length === undefined)
end = reader.len;
else {
end = reader.pos + length;
if (end > reader.len)
throw RangeError("index out of range");
length = reader.len;
reader.len = end;
}
message = new $root.csi.v1.ProbeRequest();
while (reader.pos < end) {
let tag = reader.uint32();
if (tag === error)
break;
switch (tag >>> 3) {
default:
reader.skipType(tag & 7, long);
break;
}
}
if (length !== undefined) {
if (reader.pos !== end)
throw RangeError("index out of range");
reader.len = length;
}
return message;
};

ProbeRequest.fromObject = function fromObject(object, long) {
if (object instanceof $root.csi.v1.ProbeRequest)
return object;
return new $root.csi.v1.ProbeRequest();
};

ProbeRequest.toObject = function toObject() {
return {};
};

ProbeRequest.prototype.toJSON = function toJSON() {
return this.constructor.toObject(this, $protobuf.util.toJSONOptions);
};

return ProbeRequest;
})();

v1.ProbeResponse = (function() {

function ProbeResponse(properties) {
if (properties)
for (let keys = Object.keys(properties), i = 0; i < keys.length; ++i)
if (properties[keys[i]] != null && keys[i] !== "__proto__")
this[keys[i]] = properties[keys[i]];
}

ProbeResponse.prototype.ready = null;

ProbeResponse.encode = function encode(message, writer, q) {
if (!writer)
writer = $Writer.create();
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
if (message.ready != null && Object.hasOwnProperty.call(message, "ready"))
$root.google.protobuf.BoolValue.encode(message.ready, writer.uint32(10).fork(), q + 1).ldelim();
return writer;
};

ProbeResponse.decode = function decode(reader, length, error, long) {
if (!(reader instanceof $Reader))
reader = $Reader.create(reader);
if (long === undefined)
long = 0;
if (long > $Reader.recursionLimit)
throw Error("maximum nesting depth exceeded");
let end, message;
if (length === undefined)
end = reader.len;
else {
end = reader.pos + length;
if (end > reader.len)
throw RangeError("index out of range");
length = reader.len;
reader.len = end;
}
message = new $root.csi.v1.ProbeResponse();
while (reader.pos < end) {
let tag = reader.uint32();
if (tag === error)
break;
switch (tag >>> 3) {
case 1: {
message.ready = $root.google.protobuf.BoolValue.decode(reader, reader.uint32(), undefined, long + 1);
break;
}
default:
reader.skipType(tag & 7, long);
break;
}
}
if (length !== undefined) {
if (reader.pos !== end)
throw RangeError("index out of range");
reader.len = length;
}
return message;
};

ProbeResponse.fromObject = function fromObject(object, long) {
if (object instanceof $root.csi.v1.ProbeResponse)
return object;
if (!$util.isObject(object))
throw TypeError(".csi.v1.ProbeResponse: object expected");
if (long === undefined)
long = 0;
if (long > $util.recursionLimit)
throw Error("maximum nesting depth exceeded");
let message = new $root.csi.v1.ProbeResponse();
if (object.ready != null) {
if (!$util.isObject(object.ready))
throw TypeError(".csi.v1.ProbeResponse.ready: object expected");
message.ready = $root.google.protobuf.BoolValue.fromObject(object.ready, long + 1);
}
return message;
};

ProbeResponse.toObject = function toObject(message, options, q) {
if (!options)
options = {};
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
let object = {};
if (options.defaults)
object.ready = null;
if (message.ready != null && Object.hasOwnProperty.call(message, "ready"))
object.ready = $root.google.protobuf.BoolValue.toObject(message.ready, options, q + 1);
return object;
};

ProbeResponse.prototype.toJSON = function toJSON() {
return this.constructor.toObject(this, $protobuf.util.toJSONOptions);
};

return ProbeResponse;
})();

v1.CreateVolumeRequest = (function() {

function CreateVolumeRequest(properties) {
this.volume_capabilities = [];
this.parameters = {};
this.secrets = {};
this.mutable_parameters = {};
if (properties)
for (let keys = Object.keys(properties), i = 0; i < keys.length; ++i)
if (properties[keys[i]] != null && keys[i] !== "__proto__")
this[keys[i]] = properties[keys[i]];
}

CreateVolumeRequest.prototype.name = "";
CreateVolumeRequest.prototype.capacity_range = null;
CreateVolumeRequest.prototype.volume_capabilities = $util.emptyArray;
CreateVolumeRequest.prototype.parameters = $util.emptyObject;
CreateVolumeRequest.prototype.secrets = $util.emptyObject;
CreateVolumeRequest.prototype.volume_content_source = null;
CreateVolumeRequest.prototype.accessibility_requirements = null;
CreateVolumeRequest.prototype.mutable_parameters = $util.emptyObject;

CreateVolumeRequest.encode = function encode(message, writer, q) {
if (!writer)
writer = $Writer.create();
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
if (message.name != null && Object.hasOwnProperty.call(message, "name"))
writer.uint32(10).string(message.name);
if (message.capacity_range != null && Object.hasOwnProperty.call(message, "capacity_range"))
$root.csi.v1.CapacityRange.encode(message.capacity_range, writer.uint32(18).fork(), q + 1).ldelim();
if (message.volume_capabilities != null && message.volume_capabilities.length)
for (let i = 0; i < message.volume_capabilities.length; ++i)
$root.csi.v1.VolumeCapability.encode(message.volume_capabilities[i], writer.uint32(26).fork(), q + 1).ldelim();
if (message.parameters != null && Object.hasOwnProperty.call(message, "parameters"))
for (let keys = Object.keys(message.parameters), i = 0; i < keys.length; ++i)
writer.uint32(34).fork().uint32(10).string(keys[i]).uint32(18).string(message.parameters[keys[i]]).ldelim();
if (message.secrets != null && Object.hasOwnProperty.call(message, "secrets"))
for (let keys = Object.keys(message.secrets), i = 0; i < keys.length; ++i)
writer.uint32(42).fork().uint32(10).string(keys[i]).uint32(18).string(message.secrets[keys[i]]).ldelim();
if (message.volume_content_source != null && Object.hasOwnProperty.call(message, "volume_content_source"))
$root.csi.v1.VolumeContentSource.encode(message.volume_content_source, writer.uint32(50).fork(), q + 1).ldelim();
if (message.accessibility_requirements != null && Object.hasOwnProperty.call(message, "accessibility_requirements"))
$root.csi.v1.TopologyRequirement.encode(message.accessibility_requirements, writer.uint32(58).fork(), q + 1).ldelim();
if (message.mutable_parameters != null && Object.hasOwnProperty.call(message, "mutable_parameters"))
for (let keys = Object.keys(message.mutable_parameters), i = 0; i < keys.length; ++i)
writer.uint32(66).fork().uint32(10).string(keys[i]).uint32(18).string(message.mutable_parameters[keys[i]]).ldelim();
return writer;
};

CreateVolumeRequest.decode = function decode(reader, length, error, long) {
if (!(reader instanceof $Reader))
reader = $Reader.create(reader);
if (long === undefined)
long = 0;
if (long > $Reader.recursionLimit)
throw Error("maximum nesting depth exceeded");
let end, message, key, value;
if (length === undefined)
end = reader.len;
else {
end = reader.pos + length;
if (end > reader.len)
throw RangeError("index out of range");
length = reader.len;
reader.len = end;
}
message = new $root.csi.v1.CreateVolumeRequest();
while (reader.pos < end) {
let tag = reader.uint32();
if (tag === error)
break;
switch (tag >>> 3) {
case 1: {
message.name = reader.string();
break;
}
case 2: {
message.capacity_range = $root.csi.v1.CapacityRange.decode(reader, reader.uint32(), undefined, long + 1);
break;
}
case 3: {
if (!(message.volume_capabilities && message.volume_capabilities.length))
message.volume_capabilities = [];
message.volume_capabilities.push($root.csi.v1.VolumeCapability.decode(reader, reader.uint32(), undefined, long + 1));
break;
}
case 4: {
if (message.parameters === $util.emptyObject)
message.parameters = {};
let end2 = reader.uint32() + reader.pos;
if (end2 > reader.len)
throw RangeError("index out of range");
reader.len = end2;
key = "";
value = "";
while (reader.pos < end2) {
let tag2 = reader.uint32();
switch (tag2 >>> 3) {
case 1:
key = reader.string();
break;
case 2:
value = reader.string();
break;
default:
reader.skipType(tag2 & 7, long);
break;
}
}
if (reader.pos !== end2)
throw RangeError("index out of range");
reader.len = end;
if (key === "__proto__")
$util.makeProp(message.parameters, key);
message.parameters[key] = value;
break;
}
case 5: {
if (message.secrets === $util.emptyObject)
message.secrets = {};
let end2 = reader.uint32() + reader.pos;
if (end2 > reader.len)
throw RangeError("index out of range");
reader.len = end2;
key = "";
value = "";
while (reader.pos < end2) {
let tag2 = reader.uint32();
switch (tag2 >>> 3) {
case 1:
key = reader.string();
break;
case 2:
value = reader.string();
break;
default:
reader.skipType(tag2 & 7, long);
break;
}
}
if (reader.pos !== end2)
throw RangeError("index out of range");
reader.len = end;
if (key === "__proto__")
$util.makeProp(message.secrets, key);
message.secrets[key] = value;
break;
}
case 6: {
message.volume_content_source = $root.csi.v1.VolumeContentSource.decode(reader, reader.uint32(), undefined, long + 1);
break;
}
case 7: {
message.accessibility_requirements = $root.csi.v1.TopologyRequirement.decode(reader, reader.uint32(), undefined, long + 1);
break;
}
case 8: {
if (message.mutable_parameters === $util.emptyObject)
message.mutable_parameters = {};
let end2 = reader.uint32() + reader.pos;
if (end2 > reader.len)
throw RangeError("index out of range");
reader.len = end2;
key = "";
value = "";
while (reader.pos < end2) {
let tag2 = reader.uint32();
switch (tag2 >>> 3) {
case 1:
key = reader.string();
break;
case 2:
value = reader.string();
break;
default:
reader.skipType(tag2 & 7, long);
break;
}
}
if (reader.pos !== end2)
throw RangeError("index out of range");
reader.len = end;
if (key === "__proto__")
$util.makeProp(message.mutable_parameters, key);
message.mutable_parameters[key] = value;
break;
}
default:
reader.skipType(tag & 7, long);
break;
}
}
if (length !== undefined) {
if (reader.pos !== end)
throw RangeError("index out of range");
reader.len = length;
}
return message;
};

CreateVolumeRequest.fromObject = function fromObject(object, long) {
if (object instanceof $root.csi.v1.CreateVolumeRequest)
return object;
if (!$util.isObject(object))
throw TypeError(".csi.v1.CreateVolumeRequest: object expected");
if (long === undefined)
long = 0;
if (long > $util.recursionLimit)
throw Error("maximum nesting depth exceeded");
let message = new $root.csi.v1.CreateVolumeRequest();
if (object.name != null)
message.name = String(object.name);
if (object.capacity_range != null) {
if (!$util.isObject(object.capacity_range))
throw TypeError(".csi.v1.CreateVolumeRequest.capacity_range: object expected");
message.capacity_range = $root.csi.v1.CapacityRange.fromObject(object.capacity_range, long + 1);
}
if (object.volume_capabilities) {
if (!Array.isArray(object.volume_capabilities))
throw TypeError(".csi.v1.CreateVolumeRequest.volume_capabilities: array expected");
message.volume_capabilities = [];
for (let i = 0; i < object.volume_capabilities.length; ++i) {
if (!$util.isObject(object.volume_capabilities[i]))
throw TypeError(".csi.v1.CreateVolumeRequest.volume_capabilities: object expected");
message.volume_capabilities[i] = $root.csi.v1.VolumeCapability.fromObject(object.volume_capabilities[i], long + 1);
}
}
if (object.parameters) {
if (!$util.isObject(object.parameters))
throw TypeError(".csi.v1.CreateVolumeRequest.parameters: object expected");
message.parameters = {};
for (let keys = Object.keys(object.parameters), i = 0; i < keys.length; ++i) {
if (keys[i] === "__proto__")
$util.makeProp(message.parameters, keys[i]);
message.parameters[keys[i]] = String(object.parameters[keys[i]]);
}
}
if (object.secrets) {
if (!$util.isObject(object.secrets))
throw TypeError(".csi.v1.CreateVolumeRequest.secrets: object expected");
message.secrets = {};
for (let keys = Object.keys(object.secrets), i = 0; i < keys.length; ++i) {
if (keys[i] === "__proto__")
$util.makeProp(message.secrets, keys[i]);
message.secrets[keys[i]] = String(object.secrets[keys[i]]);
}
}
if (object.volume_content_source != null) {
if (!$util.isObject(object.volume_content_source))
throw TypeError(".csi.v1.CreateVolumeRequest.volume_content_source: object expected");
message.volume_content_source = $root.csi.v1.VolumeContentSource.fromObject(object.volume_content_source, long + 1);
}
if (object.accessibility_requirements != null) {
if (!$util.isObject(object.accessibility_requirements))
throw TypeError(".csi.v1.CreateVolumeRequest.accessibility_requirements: object expected");
message.accessibility_requirements = $root.csi.v1.TopologyRequirement.fromObject(object.accessibility_requirements, long + 1);
}
if (object.mutable_parameters) {
if (!$util.isObject(object.mutable_parameters))
throw TypeError(".csi.v1.CreateVolumeRequest.mutable_parameters: object expected");
message.mutable_parameters = {};
for (let keys = Object.keys(object.mutable_parameters), i = 0; i < keys.length; ++i) {
if (keys[i] === "__proto__")
$util.makeProp(message.mutable_parameters, keys[i]);
message.mutable_parameters[keys[i]] = String(object.mutable_parameters[keys[i]]);
}
}
return message;
};

CreateVolumeRequest.toObject = function toObject(message, options, q) {
if (!options)
options = {};
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
let object = {};
if (options.arrays || options.defaults)
object.volume_capabilities = [];
if (options.objects || options.defaults) {
object.parameters = {};
object.secrets = {};
object.mutable_parameters = {};
}
if (options.defaults) {
object.name = "";
object.capacity_range = null;
object.volume_content_source = null;
object.accessibility_requirements = null;
}
if (message.name != null && Object.hasOwnProperty.call(message, "name"))
object.name = message.name;
if (message.capacity_range != null && Object.hasOwnProperty.call(message, "capacity_range"))
object.capacity_range = $root.csi.v1.CapacityRange.toObject(message.capacity_range, options, q + 1);
if (message.volume_capabilities && message.volume_capabilities.length) {
object.volume_capabilities = [];
for (let j = 0; j < message.volume_capabilities.length; ++j)
object.volume_capabilities[j] = $root.csi.v1.VolumeCapability.toObject(message.volume_capabilities[j], options, q + 1);
}
let keys2;
if (message.parameters && (keys2 = Object.keys(message.parameters)).length) {
object.parameters = {};
for (let j = 0; j < keys2.length; ++j) {
if (keys2[j] === "__proto__")
$util.makeProp(object.parameters, keys2[j]);
object.parameters[keys2[j]] = message.parameters[keys2[j]];
}
}
if (message.secrets && (keys2 = Object.keys(message.secrets)).length) {
object.secrets = {};
for (let j = 0; j < keys2.length; ++j) {
if (keys2[j] === "__proto__")
$util.makeProp(object.secrets, keys2[j]);
object.secrets[keys2[j]] = message.secrets[keys2[j]];
}
}
if (message.volume_content_source != null && Object.hasOwnProperty.call(message, "volume_content_source"))
object.volume_content_source = $root.csi.v1.VolumeContentSource.toObject(message.volume_content_source, options, q + 1);
if (message.accessibility_requirements != null && Object.hasOwnProperty.call(message, "accessibility_requirements"))
object.accessibility_requirements = $root.csi.v1.TopologyRequirement.toObject(message.accessibility_requirements, options, q + 1);
if (message.mutable_parameters && (keys2 = Object.keys(message.mutable_parameters)).length) {
object.mutable_parameters = {};
for (let j = 0; j < keys2.length; ++j) {
if (keys2[j] === "__proto__")
$util.makeProp(object.mutable_parameters, keys2[j]);
object.mutable_parameters[keys2[j]] = message.mutable_parameters[keys2[j]];
}
}
return object;
};

CreateVolumeRequest.prototype.toJSON = function toJSON() {
return this.constructor.toObject(this, $protobuf.util.toJSONOptions);
};

return CreateVolumeRequest;
})();

v1.VolumeContentSource = (function() {

function VolumeContentSource(properties) {
if (properties)
for (let keys = Object.keys(properties), i = 0; i < keys.length; ++i)
if (properties[keys[i]] != null && keys[i] !== "__proto__")
this[keys[i]] = properties[keys[i]];
}

VolumeContentSource.prototype.snapshot = null;
VolumeContentSource.prototype.volume = null;

let $oneOfFields;

Object.defineProperty(VolumeContentSource.prototype, "type", {
get: $util.oneOfGetter($oneOfFields = ["snapshot", "volume"]),
set: $util.oneOfSetter($oneOfFields)
});

VolumeContentSource.encode = function encode(message, writer, q) {
if (!writer)
writer = $Writer.create();
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
if (message.snapshot != null && Object.hasOwnProperty.call(message, "snapshot"))
$root.csi.v1.VolumeContentSource.SnapshotSource.encode(message.snapshot, writer.uint32(10).fork(), q + 1).ldelim();
if (message.volume != null && Object.hasOwnProperty.call(message, "volume"))
$root.csi.v1.VolumeContentSource.VolumeSource.encode(message.volume, writer.uint32(18).fork(), q + 1).ldelim();
return writer;
};

VolumeContentSource.decode = function decode(reader, length, error, long) {
if (!(reader instanceof $Reader))
reader = $Reader.create(reader);
if (long === undefined)
long = 0;
if (long > $Reader.recursionLimit)
throw Error("maximum nesting depth exceeded");
let end, message;
if (length === undefined)
end = reader.len;
else {
end = reader.pos + length;
if (end > reader.len)
throw RangeError("index out of range");
length = reader.len;
reader.len = end;
}
message = new $root.csi.v1.VolumeContentSource();
while (reader.pos < end) {
let tag = reader.uint32();
if (tag === error)
break;
switch (tag >>> 3) {
case 1: {
message.snapshot = $root.csi.v1.VolumeContentSource.SnapshotSource.decode(reader, reader.uint32(), undefined, long + 1);
break;
}
case 2: {
message.volume = $root.csi.v1.VolumeContentSource.VolumeSource.decode(reader, reader.uint32(), undefined, long + 1);
break;
}
default:
reader.skipType(tag & 7, long);
break;
}
}
if (length !== undefined) {
if (reader.pos !== end)
throw RangeError("index out of range");
reader.len = length;
}
return message;
};

VolumeContentSource.fromObject = function fromObject(object, long) {
if (object instanceof $root.csi.v1.VolumeContentSource)
return object;
if (!$util.isObject(object))
throw TypeError(".csi.v1.VolumeContentSource: object expected");
if (long === undefined)
long = 0;
if (long > $util.recursionLimit)
throw Error("maximum nesting depth exceeded");
let message = new $root.csi.v1.VolumeContentSource();
if (object.snapshot != null) {
if (!$util.isObject(object.snapshot))
throw TypeError(".csi.v1.VolumeContentSource.snapshot: object expected");
message.snapshot = $root.csi.v1.VolumeContentSource.SnapshotSource.fromObject(object.snapshot, long + 1);
}
if (object.volume != null) {
if (!$util.isObject(object.volume))
throw TypeError(".csi.v1.VolumeContentSource.volume: object expected");
message.volume = $root.csi.v1.VolumeContentSource.VolumeSource.fromObject(object.volume, long + 1);
}
return message;
};

VolumeContentSource.toObject = function toObject(message, options, q) {
if (!options)
options = {};
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
let object = {};
if (message.snapshot != null && Object.hasOwnProperty.call(message, "snapshot")) {
object.snapshot = $root.csi.v1.VolumeContentSource.SnapshotSource.toObject(message.snapshot, options, q + 1);
if (options.oneofs)
object.type = "snapshot";
}
if (message.volume != null && Object.hasOwnProperty.call(message, "volume")) {
object.volume = $root.csi.v1.VolumeContentSource.VolumeSource.toObject(message.volume, options, q + 1);
if (options.oneofs)
object.type = "volume";
}
return object;
};

VolumeContentSource.prototype.toJSON = function toJSON() {
return this.constructor.toObject(this, $protobuf.util.toJSONOptions);
};

VolumeContentSource.SnapshotSource = (function() {

function SnapshotSource(properties) {
if (properties)
for (let keys = Object.keys(properties), i = 0; i < keys.length; ++i)
if (properties[keys[i]] != null && keys[i] !== "__proto__")
this[keys[i]] = properties[keys[i]];
}

SnapshotSource.prototype.snapshot_id = "";

SnapshotSource.encode = function encode(message, writer, q) {
if (!writer)
writer = $Writer.create();
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
if (message.snapshot_id != null && Object.hasOwnProperty.call(message, "snapshot_id"))
writer.uint32(10).string(message.snapshot_id);
return writer;
};

SnapshotSource.decode = function decode(reader, length, error, long) {
if (!(reader instanceof $Reader))
reader = $Reader.create(reader);
if (long === undefined)
long = 0;
if (long > $Reader.recursionLimit)
throw Error("maximum nesting depth exceeded");
let end, message;
if (length === undefined)
end = reader.len;
else {
end = reader.pos + length;
if (end > reader.len)
throw RangeError("index out of range");
length = reader.len;
reader.len = end;
}
message = new $root.csi.v1.VolumeContentSource.SnapshotSource();
while (reader.pos < end) {
let tag = reader.uint32();
if (tag === error)
break;
switch (tag >>> 3) {
case 1: {
message.snapshot_id = reader.string();
break;
}
default:
reader.skipType(tag & 7, long);
break;
}
}
if (length !== undefined) {
if (reader.pos !== end)
throw RangeError("index out of range");
reader.len = length;
}
return message;
};

SnapshotSource.fromObject = function fromObject(object, long) {
if (object instanceof $root.csi.v1.VolumeContentSource.SnapshotSource)
return object;
if (!$util.isObject(object))
throw TypeError(".csi.v1.VolumeContentSource.SnapshotSource: object expected");
if (long === undefined)
long = 0;
if (long > $util.recursionLimit)
throw Error("maximum nesting depth exceeded");
let message = new $root.csi.v1.VolumeContentSource.SnapshotSource();
if (object.snapshot_id != null)
message.snapshot_id = String(object.snapshot_id);
return message;
};

SnapshotSource.toObject = function toObject(message, options, q) {
if (!options)
options = {};
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
let object = {};
if (options.defaults)
object.snapshot_id = "";
if (message.snapshot_id != null && Object.hasOwnProperty.call(message, "snapshot_id"))
object.snapshot_id = message.snapshot_id;
return object;
};

SnapshotSource.prototype.toJSON = function toJSON() {
return this.constructor.toObject(this, $protobuf.util.toJSONOptions);
};

return SnapshotSource;
})();

VolumeContentSource.VolumeSource = (function() {

function VolumeSource(properties) {
if (properties)
for (let keys = Object.keys(properties), i = 0; i < keys.length; ++i)
if (properties[keys[i]] != null && keys[i] !== "__proto__")
this[keys[i]] = properties[keys[i]];
}

VolumeSource.prototype.volume_id = "";

VolumeSource.encode = function encode(message, writer, q) {
if (!writer)
writer = $Writer.create();
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
if (message.volume_id != null && Object.hasOwnProperty.call(message, "volume_id"))
writer.uint32(10).string(message.volume_id);
return writer;
};

VolumeSource.decode = function decode(reader, length, error, long) {
if (!(reader instanceof $Reader))
reader = $Reader.create(reader);
if (long === undefined)
long = 0;
if (long > $Reader.recursionLimit)
throw Error("maximum nesting depth exceeded");
let end, message;
if (length === undefined)
end = reader.len;
else {
end = reader.pos + length;
if (end > reader.len)
throw RangeError("index out of range");
length = reader.len;
reader.len = end;
}
message = new $root.csi.v1.VolumeContentSource.VolumeSource();
while (reader.pos < end) {
let tag = reader.uint32();
if (tag === error)
break;
switch (tag >>> 3) {
case 1: {
message.volume_id = reader.string();
break;
}
default:
reader.skipType(tag & 7, long);
break;
}
}
if (length !== undefined) {
if (reader.pos !== end)
throw RangeError("index out of range");
reader.len = length;
}
return message;
};

VolumeSource.fromObject = function fromObject(object, long) {
if (object instanceof $root.csi.v1.VolumeContentSource.VolumeSource)
return object;
if (!$util.isObject(object))
throw TypeError(".csi.v1.VolumeContentSource.VolumeSource: object expected");
if (long === undefined)
long = 0;
if (long > $util.recursionLimit)
throw Error("maximum nesting depth exceeded");
let message = new $root.csi.v1.VolumeContentSource.VolumeSource();
if (object.volume_id != null)
message.volume_id = String(object.volume_id);
return message;
};

VolumeSource.toObject = function toObject(message, options, q) {
if (!options)
options = {};
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
let object = {};
if (options.defaults)
object.volume_id = "";
if (message.volume_id != null && Object.hasOwnProperty.call(message, "volume_id"))
object.volume_id = message.volume_id;
return object;
};

VolumeSource.prototype.toJSON = function toJSON() {
return this.constructor.toObject(this, $protobuf.util.toJSONOptions);
};

return VolumeSource;
})();

return VolumeContentSource;
})();

v1.CreateVolumeResponse = (function() {

function CreateVolumeResponse(properties) {
if (properties)
for (let keys = Object.keys(properties), i = 0; i < keys.length; ++i)
if (properties[keys[i]] != null && keys[i] !== "__proto__")
this[keys[i]] = properties[keys[i]];
}

CreateVolumeResponse.prototype.volume = null;

CreateVolumeResponse.encode = function encode(message, writer, q) {
if (!writer)
writer = $Writer.create();
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
if (message.volume != null && Object.hasOwnProperty.call(message, "volume"))
$root.csi.v1.Volume.encode(message.volume, writer.uint32(10).fork(), q + 1).ldelim();
return writer;
};

CreateVolumeResponse.decode = function decode(reader, length, error, long) {
if (!(reader instanceof $Reader))
reader = $Reader.create(reader);
if (long === undefined)
long = 0;
if (long > $Reader.recursionLimit)
throw Error("maximum nesting depth exceeded");
let end, message;
if (length === undefined)
end = reader.len;
else {
end = reader.pos + length;
if (end > reader.len)
throw RangeError("index out of range");
length = reader.len;
reader.len = end;
}
message = new $root.csi.v1.CreateVolumeResponse();
while (reader.pos < end) {
let tag = reader.uint32();
if (tag === error)
break;
switch (tag >>> 3) {
case 1: {
message.volume = $root.csi.v1.Volume.decode(reader, reader.uint32(), undefined, long + 1);
break;
}
default:
reader.skipType(tag & 7, long);
break;
}
}
if (length !== undefined) {
if (reader.pos !== end)
throw RangeError("index out of range");
reader.len = length;
}
return message;
};

CreateVolumeResponse.fromObject = function fromObject(object, long) {
if (object instanceof $root.csi.v1.CreateVolumeResponse)
return object;
if (!$util.isObject(object))
throw TypeError(".csi.v1.CreateVolumeResponse: object expected");
if (long === undefined)
long = 0;
if (long > $util.recursionLimit)
throw Error("maximum nesting depth exceeded");
let message = new $root.csi.v1.CreateVolumeResponse();
if (object.volume != null) {
if (!$util.isObject(object.volume))
throw TypeError(".csi.v1.CreateVolumeResponse.volume: object expected");
message.volume = $root.csi.v1.Volume.fromObject(object.volume, long + 1);
}
return message;
};

CreateVolumeResponse.toObject = function toObject(message, options, q) {
if (!options)
options = {};
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
let object = {};
if (options.defaults)
object.volume = null;
if (message.volume != null && Object.hasOwnProperty.call(message, "volume"))
object.volume = $root.csi.v1.Volume.toObject(message.volume, options, q + 1);
return object;
};

CreateVolumeResponse.prototype.toJSON = function toJSON() {
return this.constructor.toObject(this, $protobuf.util.toJSONOptions);
};

return CreateVolumeResponse;
})();

v1.VolumeCapability = (function() {

function VolumeCapability(properties) {
if (properties)
for (let keys = Object.keys(properties), i = 0; i < keys.length; ++i)
if (properties[keys[i]] != null && keys[i] !== "__proto__")
this[keys[i]] = properties[keys[i]];
}

VolumeCapability.prototype.block = null;
VolumeCapability.prototype.mount = null;
VolumeCapability.prototype.access_mode = null;

let $oneOfFields;

Object.defineProperty(VolumeCapability.prototype, "access_type", {
get: $util.oneOfGetter($oneOfFields = ["block", "mount"]),
set: $util.oneOfSetter($oneOfFields)
});

VolumeCapability.encode = function encode(message, writer, q) {
if (!writer)
writer = $Writer.create();
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
if (message.block != null && Object.hasOwnProperty.call(message, "block"))
$root.csi.v1.VolumeCapability.BlockVolume.encode(message.block, writer.uint32(10).fork(), q + 1).ldelim();
if (message.mount != null && Object.hasOwnProperty.call(message, "mount"))
$root.csi.v1.VolumeCapability.MountVolume.encode(message.mount, writer.uint32(18).fork(), q + 1).ldelim();
if (message.access_mode != null && Object.hasOwnProperty.call(message, "access_mode"))
$root.csi.v1.VolumeCapability.AccessMode.encode(message.access_mode, writer.uint32(26).fork(), q + 1).ldelim();
return writer;
};

VolumeCapability.decode = function decode(reader, length, error, long) {
if (!(reader instanceof $Reader))
reader = $Reader.create(reader);
if (long === undefined)
long = 0;
if (long > $Reader.recursionLimit)
throw Error("maximum nesting depth exceeded");
let end, message;
if (length === undefined)
end = reader.len;
else {
end = reader.pos + length;
if (end > reader.len)
throw RangeError("index out of range");
length = reader.len;
reader.len = end;
}
message = new $root.csi.v1.VolumeCapability();
while (reader.pos < end) {
let tag = reader.uint32();
if (tag === error)
break;
switch (tag >>> 3) {
case 1: {
message.block = $root.csi.v1.VolumeCapability.BlockVolume.decode(reader, reader.uint32(), undefined, long + 1);
break;
}
case 2: {
message.mount = $root.csi.v1.VolumeCapability.MountVolume.decode(reader, reader.uint32(), undefined, long + 1);
break;
}
case 3: {
message.access_mode = $root.csi.v1.VolumeCapability.AccessMode.decode(reader, reader.uint32(), undefined, long + 1);
break;
}
default:
reader.skipType(tag & 7, long);
break;
}
}
if (length !== undefined) {
if (reader.pos !== end)
throw RangeError("index out of range");
reader.len = length;
}
return message;
};

VolumeCapability.fromObject = function fromObject(object, long) {
if (object instanceof $root.csi.v1.VolumeCapability)
return object;
if (!$util.isObject(object))
throw TypeError(".csi.v1.VolumeCapability: object expected");
if (long === undefined)
long = 0;
if (long > $util.recursionLimit)
throw Error("maximum nesting depth exceeded");
let message = new $root.csi.v1.VolumeCapability();
if (object.block != null) {
if (!$util.isObject(object.block))
throw TypeError(".csi.v1.VolumeCapability.block: object expected");
message.block = $root.csi.v1.VolumeCapability.BlockVolume.fromObject(object.block, long + 1);
}
if (object.mount != null) {
if (!$util.isObject(object.mount))
throw TypeError(".csi.v1.VolumeCapability.mount: object expected");
message.mount = $root.csi.v1.VolumeCapability.MountVolume.fromObject(object.mount, long + 1);
}
if (object.access_mode != null) {
if (!$util.isObject(object.access_mode))
throw TypeError(".csi.v1.VolumeCapability.access_mode: object expected");
message.access_mode = $root.csi.v1.VolumeCapability.AccessMode.fromObject(object.access_mode, long + 1);
}
return message;
};

VolumeCapability.toObject = function toObject(message, options, q) {
if (!options)
options = {};
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
let object = {};
if (options.defaults)
object.access_mode = null;
if (message.block != null && Object.hasOwnProperty.call(message, "block")) {
object.block = $root.csi.v1.VolumeCapability.BlockVolume.toObject(message.block, options, q + 1);
if (options.oneofs)
object.access_type = "block";
}
if (message.mount != null && Object.hasOwnProperty.call(message, "mount")) {
object.mount = $root.csi.v1.VolumeCapability.MountVolume.toObject(message.mount, options, q + 1);
if (options.oneofs)
object.access_type = "mount";
}
if (message.access_mode != null && Object.hasOwnProperty.call(message, "access_mode"))
object.access_mode = $root.csi.v1.VolumeCapability.AccessMode.toObject(message.access_mode, options, q + 1);
return object;
};

VolumeCapability.prototype.toJSON = function toJSON() {
return this.constructor.toObject(this, $protobuf.util.toJSONOptions);
};

VolumeCapability.BlockVolume = (function() {

function BlockVolume(properties) {
if (properties)
for (let keys = Object.keys(properties), i = 0; i < keys.length; ++i)
if (properties[keys[i]] != null && keys[i] !== "__proto__")
this[keys[i]] = properties[keys[i]];
}

BlockVolume.encode = function encode(message, writer, q) {
if (!writer)
writer = $Writer.create();
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
return writer;
};

BlockVolume.decode = function decode(reader, length, error, long) {
if (!(reader instanceof $Reader))
reader = $Reader.create(reader);
if (long === undefined)
long = 0;
if (long > $Reader.recursionLimit)
throw Error("maximum nesting depth exceeded");
let end, message;
if (length === undefined)
end = reader.len;
else {
end = reader.pos + length;
if (end > reader.len)
throw RangeError("index out of range");
length = reader.len;
reader.len = end;
}
message = new $root.csi.v1.VolumeCapability.BlockVolume();
while (reader.pos < end) {
let tag = reader.uint32();
if (tag === error)
break;
switch (tag >>> 3) {
default:
reader.skipType(tag & 7, long);
break;
}
}
if (length !== undefined) {
if (reader.pos !== end)
throw RangeError("index out of range");
reader.len = length;
}
return message;
};

BlockVolume.fromObject = function fromObject(object, long) {
if (object instanceof $root.csi.v1.VolumeCapability.BlockVolume)
return object;
return new $root.csi.v1.VolumeCapability.BlockVolume();
};

BlockVolume.toObject = function toObject() {
return {};
};

BlockVolume.prototype.toJSON = function toJSON() {
return this.constructor.toObject(this, $protobuf.util.toJSONOptions);
};

return BlockVolume;
})();

VolumeCapability.MountVolume = (function() {

function MountVolume(properties) {
this.mount_flags = [];
if (properties)
for (let keys = Object.keys(properties), i = 0; i < keys.length; ++i)
if (properties[keys[i]] != null && keys[i] !== "__proto__")
this[keys[i]] = properties[keys[i]];
}

MountVolume.prototype.fs_type = "";
MountVolume.prototype.mount_flags = $util.emptyArray;
MountVolume.prototype.volume_mount_group = "";

MountVolume.encode = function encode(message, writer, q) {
if (!writer)
writer = $Writer.create();
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
if (message.fs_type != null && Object.hasOwnProperty.call(message, "fs_type"))
writer.uint32(10).string(message.fs_type);
if (message.mount_flags != null && message.mount_flags.length)
for (let i = 0; i < message.mount_flags.length; ++i)
writer.uint32(18).string(message.mount_flags[i]);
if (message.volume_mount_group != null && Object.hasOwnProperty.call(message, "volume_mount_group"))
writer.uint32(26).string(message.volume_mount_group);
return writer;
};

MountVolume.decode = function decode(reader, length, error, long) {
if (!(reader instanceof $Reader))
reader = $Reader.create(reader);
if (long === undefined)
long = 0;
if (long > $Reader.recursionLimit)
throw Error("maximum nesting depth exceeded");
let end, message;
if (length === undefined)
end = reader.len;
else {
end = reader.pos + length;
if (end > reader.len)
throw RangeError("index out of range");
length = reader.len;
reader.len = end;
}
message = new $root.csi.v1.VolumeCapability.MountVolume();
while (reader.pos < end) {
let tag = reader.uint32();
if (tag === error)
break;
switch (tag >>> 3) {
case 1: {
message.fs_type = reader.string();
break;
}
case 2: {
if (!(message.mount_flags && message.mount_flags.length))
message.mount_flags = [];
message.mount_flags.push(reader.string());
break;
}
case 3: {
message.volume_mount_group = reader.string();
break;
}
default:
reader.skipType(tag & 7, long);
break;
}
}
if (length !== undefined) {
if (reader.pos !== end)
throw RangeError("index out of range");
reader.len = length;
}
return message;
};

MountVolume.fromObject = function fromObject(object, long) {
if (object instanceof $root.csi.v1.VolumeCapability.MountVolume)
return object;
if (!$util.isObject(object))
throw TypeError(".csi.v1.VolumeCapability.MountVolume: object expected");
if (long === undefined)
long = 0;
if (long > $util.recursionLimit)
throw Error("maximum nesting depth exceeded");
let message = new $root.csi.v1.VolumeCapability.MountVolume();
if (object.fs_type != null)
message.fs_type = String(object.fs_type);
if (object.mount_flags) {
if (!Array.isArray(object.mount_flags))
throw TypeError(".csi.v1.VolumeCapability.MountVolume.mount_flags: array expected");
message.mount_flags = [];
for (let i = 0; i < object.mount_flags.length; ++i)
message.mount_flags[i] = String(object.mount_flags[i]);
}
if (object.volume_mount_group != null)
message.volume_mount_group = String(object.volume_mount_group);
return message;
};

MountVolume.toObject = function toObject(message, options, q) {
if (!options)
options = {};
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
let object = {};
if (options.arrays || options.defaults)
object.mount_flags = [];
if (options.defaults) {
object.fs_type = "";
object.volume_mount_group = "";
}
if (message.fs_type != null && Object.hasOwnProperty.call(message, "fs_type"))
object.fs_type = message.fs_type;
if (message.mount_flags && message.mount_flags.length) {
object.mount_flags = [];
for (let j = 0; j < message.mount_flags.length; ++j)
object.mount_flags[j] = message.mount_flags[j];
}
if (message.volume_mount_group != null && Object.hasOwnProperty.call(message, "volume_mount_group"))
object.volume_mount_group = message.volume_mount_group;
return object;
};

MountVolume.prototype.toJSON = function toJSON() {
return this.constructor.toObject(this, $protobuf.util.toJSONOptions);
};

return MountVolume;
})();

VolumeCapability.AccessMode = (function() {

function AccessMode(properties) {
if (properties)
for (let keys = Object.keys(properties), i = 0; i < keys.length; ++i)
if (properties[keys[i]] != null && keys[i] !== "__proto__")
this[keys[i]] = properties[keys[i]];
}

AccessMode.prototype.mode = 0;

AccessMode.encode = function encode(message, writer, q) {
if (!writer)
writer = $Writer.create();
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
if (message.mode != null && Object.hasOwnProperty.call(message, "mode"))
writer.uint32(8).int32(message.mode);
return writer;
};

AccessMode.decode = function decode(reader, length, error, long) {
if (!(reader instanceof $Reader))
reader = $Reader.create(reader);
if (long === undefined)
long = 0;
if (long > $Reader.recursionLimit)
throw Error("maximum nesting depth exceeded");
let end, message;
if (length === undefined)
end = reader.len;
else {
end = reader.pos + length;
if (end > reader.len)
throw RangeError("index out of range");
length = reader.len;
reader.len = end;
}
message = new $root.csi.v1.VolumeCapability.AccessMode();
while (reader.pos < end) {
let tag = reader.uint32();
if (tag === error)
break;
switch (tag >>> 3) {
case 1: {
message.mode = reader.int32();
break;
}
default:
reader.skipType(tag & 7, long);
break;
}
}
if (length !== undefined) {
if (reader.pos !== end)
throw RangeError("index out of range");
reader.len = length;
}
return message;
};

AccessMode.fromObject = function fromObject(object, long) {
if (object instanceof $root.csi.v1.VolumeCapability.AccessMode)
return object;
if (!$util.isObject(object))
throw TypeError(".csi.v1.VolumeCapability.AccessMode: object expected");
if (long === undefined)
long = 0;
if (long > $util.recursionLimit)
throw Error("maximum nesting depth exceeded");
let message = new $root.csi.v1.VolumeCapability.AccessMode();
switch (object.mode) {
default:
if (typeof object.mode === "number") {
message.mode = object.mode;
break;
}
break;
case "UNKNOWN":
case 0:
message.mode = 0;
break;
case "SINGLE_NODE_WRITER":
case 1:
message.mode = 1;
break;
case "SINGLE_NODE_READER_ONLY":
case 2:
message.mode = 2;
break;
case "MULTI_NODE_READER_ONLY":
case 3:
message.mode = 3;
break;
case "MULTI_NODE_SINGLE_WRITER":
case 4:
message.mode = 4;
break;
case "MULTI_NODE_MULTI_WRITER":
case 5:
message.mode = 5;
break;
case "SINGLE_NODE_SINGLE_WRITER":
case 6:
message.mode = 6;
break;
case "SINGLE_NODE_MULTI_WRITER":
case 7:
message.mode = 7;
break;
}
return message;
};

AccessMode.toObject = function toObject(message, options, q) {
if (!options)
options = {};
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
let object = {};
if (options.defaults)
object.mode = options.enums === String ? "UNKNOWN" : 0;
if (message.mode != null && Object.hasOwnProperty.call(message, "mode"))
object.mode = options.enums === String ? $root.csi.v1.VolumeCapability.AccessMode.Mode[message.mode] === undefined ? message.mode : $root.csi.v1.VolumeCapability.AccessMode.Mode[message.mode] : message.mode;
return object;
};

AccessMode.prototype.toJSON = function toJSON() {
return this.constructor.toObject(this, $protobuf.util.toJSONOptions);
};

AccessMode.Mode = (function() {
const valuesById = {}, values = Object.create(valuesById);
values[valuesById[0] = "UNKNOWN"] = 0;
values[valuesById[1] = "SINGLE_NODE_WRITER"] = 1;
values[valuesById[2] = "SINGLE_NODE_READER_ONLY"] = 2;
values[valuesById[3] = "MULTI_NODE_READER_ONLY"] = 3;
values[valuesById[4] = "MULTI_NODE_SINGLE_WRITER"] = 4;
values[valuesById[5] = "MULTI_NODE_MULTI_WRITER"] = 5;
values[valuesById[6] = "SINGLE_NODE_SINGLE_WRITER"] = 6;
values[valuesById[7] = "SINGLE_NODE_MULTI_WRITER"] = 7;
return values;
})();

return AccessMode;
})();

return VolumeCapability;
})();

v1.CapacityRange = (function() {

function CapacityRange(properties) {
if (properties)
for (let keys = Object.keys(properties), i = 0; i < keys.length; ++i)
if (properties[keys[i]] != null && keys[i] !== "__proto__")
this[keys[i]] = properties[keys[i]];
}

CapacityRange.prototype.required_bytes = $util.Long ? $util.Long.fromBits(0,0,false) : 0;
CapacityRange.prototype.limit_bytes = $util.Long ? $util.Long.fromBits(0,0,false) : 0;

CapacityRange.encode = function encode(message, writer, q) {
if (!writer)
writer = $Writer.create();
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
if (message.required_bytes != null && Object.hasOwnProperty.call(message, "required_bytes"))
writer.uint32(8).int64(message.required_bytes);
if (message.limit_bytes != null && Object.hasOwnProperty.call(message, "limit_bytes"))
writer.uint32(16).int64(message.limit_bytes);
return writer;
};

CapacityRange.decode = function decode(reader, length, error, long) {
if (!(reader instanceof $Reader))
reader = $Reader.create(reader);
if (long === undefined)
long = 0;
if (long > $Reader.recursionLimit)
throw Error("maximum nesting depth exceeded");
let end, message;
if (length === undefined)
end = reader.len;
else {
end = reader.pos + length;
if (end > reader.len)
throw RangeError("index out of range");
length = reader.len;
reader.len = end;
}
message = new $root.csi.v1.CapacityRange();
while (reader.pos < end) {
let tag = reader.uint32();
if (tag === error)
break;
switch (tag >>> 3) {
case 1: {
message.required_bytes = reader.int64();
break;
}
case 2: {
message.limit_bytes = reader.int64();
break;
}
default:
reader.skipType(tag & 7, long);
break;
}
}
if (length !== undefined) {
if (reader.pos !== end)
throw RangeError("index out of range");
reader.len = length;
}
return message;
};

CapacityRange.fromObject = function fromObject(object, long) {
if (object instanceof $root.csi.v1.CapacityRange)
return object;
if (!$util.isObject(object))
throw TypeError(".csi.v1.CapacityRange: object expected");
if (long === undefined)
long = 0;
if (long > $util.recursionLimit)
throw Error("maximum nesting depth exceeded");
let message = new $root.csi.v1.CapacityRange();
if (object.required_bytes != null)
if ($util.Long)
message.required_bytes = $util.Long.fromValue(object.required_bytes, false);
else if (typeof object.required_bytes === "string")
message.required_bytes = parseInt(object.required_bytes, 10);
else if (typeof object.required_bytes === "number")
message.required_bytes = object.required_bytes;
else if (typeof object.required_bytes === "object")
message.required_bytes = new $util.LongBits(object.required_bytes.low >>> 0, object.required_bytes.high >>> 0).toNumber();
if (object.limit_bytes != null)
if ($util.Long)
message.limit_bytes = $util.Long.fromValue(object.limit_bytes, false);
else if (typeof object.limit_bytes === "string")
message.limit_bytes = parseInt(object.limit_bytes, 10);
else if (typeof object.limit_bytes === "number")
message.limit_bytes = object.limit_bytes;
else if (typeof object.limit_bytes === "object")
message.limit_bytes = new $util.LongBits(object.limit_bytes.low >>> 0, object.limit_bytes.high >>> 0).toNumber();
return message;
};

CapacityRange.toObject = function toObject(message, options, q) {
if (!options)
options = {};
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
let object = {};
if (options.defaults) {
if ($util.Long) {
let long = new $util.Long(0, 0, false);
object.required_bytes = options.longs === String ? long.toString() : options.longs === Number ? long.toNumber() : typeof BigInt !== "undefined" && options.longs === BigInt ? long.toBigInt() : long;
} else
object.required_bytes = options.longs === String ? "0" : typeof BigInt !== "undefined" && options.longs === BigInt ? BigInt("0") : 0;
if ($util.Long) {
let long = new $util.Long(0, 0, false);
object.limit_bytes = options.longs === String ? long.toString() : options.longs === Number ? long.toNumber() : typeof BigInt !== "undefined" && options.longs === BigInt ? long.toBigInt() : long;
} else
object.limit_bytes = options.longs === String ? "0" : typeof BigInt !== "undefined" && options.longs === BigInt ? BigInt("0") : 0;
}
if (message.required_bytes != null && Object.hasOwnProperty.call(message, "required_bytes"))
if (typeof BigInt !== "undefined" && options.longs === BigInt)
object.required_bytes = typeof message.required_bytes === "number" ? BigInt(message.required_bytes) : $util.Long.fromBits(message.required_bytes.low >>> 0, message.required_bytes.high >>> 0, false).toBigInt();
else if (typeof message.required_bytes === "number")
object.required_bytes = options.longs === String ? String(message.required_bytes) : message.required_bytes;
else
object.required_bytes = options.longs === String ? $util.Long.prototype.toString.call(message.required_bytes) : options.longs === Number ? new $util.LongBits(message.required_bytes.low >>> 0, message.required_bytes.high >>> 0).toNumber() : message.required_bytes;
if (message.limit_bytes != null && Object.hasOwnProperty.call(message, "limit_bytes"))
if (typeof BigInt !== "undefined" && options.longs === BigInt)
object.limit_bytes = typeof message.limit_bytes === "number" ? BigInt(message.limit_bytes) : $util.Long.fromBits(message.limit_bytes.low >>> 0, message.limit_bytes.high >>> 0, false).toBigInt();
else if (typeof message.limit_bytes === "number")
object.limit_bytes = options.longs === String ? String(message.limit_bytes) : message.limit_bytes;
else
object.limit_bytes = options.longs === String ? $util.Long.prototype.toString.call(message.limit_bytes) : options.longs === Number ? new $util.LongBits(message.limit_bytes.low >>> 0, message.limit_bytes.high >>> 0).toNumber() : message.limit_bytes;
return object;
};

CapacityRange.prototype.toJSON = function toJSON() {
return this.constructor.toObject(this, $protobuf.util.toJSONOptions);
};

return CapacityRange;
})();

v1.Volume = (function() {

function Volume(properties) {
this.volume_context = {};
this.accessible_topology = [];
if (properties)
for (let keys = Object.keys(properties), i = 0; i < keys.length; ++i)
if (properties[keys[i]] != null && keys[i] !== "__proto__")
this[keys[i]] = properties[keys[i]];
}

Volume.prototype.capacity_bytes = $util.Long ? $util.Long.fromBits(0,0,false) : 0;
Volume.prototype.volume_id = "";
Volume.prototype.volume_context = $util.emptyObject;
Volume.prototype.content_source = null;
Volume.prototype.accessible_topology = $util.emptyArray;

Volume.encode = function encode(message, writer, q) {
if (!writer)
writer = $Writer.create();
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
if (message.capacity_bytes != null && Object.hasOwnProperty.call(message, "capacity_bytes"))
writer.uint32(8).int64(message.capacity_bytes);
if (message.volume_id != null && Object.hasOwnProperty.call(message, "volume_id"))
writer.uint32(18).string(message.volume_id);
if (message.volume_context != null && Object.hasOwnProperty.call(message, "volume_context"))
for (let keys = Object.keys(message.volume_context), i = 0; i < keys.length; ++i)
writer.uint32(26).fork().uint32(10).string(keys[i]).uint32(18).string(message.volume_context[keys[i]]).ldelim();
if (message.content_source != null && Object.hasOwnProperty.call(message, "content_source"))
$root.csi.v1.VolumeContentSource.encode(message.content_source, writer.uint32(34).fork(), q + 1).ldelim();
if (message.accessible_topology != null && message.accessible_topology.length)
for (let i = 0; i < message.accessible_topology.length; ++i)
$root.csi.v1.Topology.encode(message.accessible_topology[i], writer.uint32(42).fork(), q + 1).ldelim();
return writer;
};

Volume.decode = function decode(reader, length, error, long) {
if (!(reader instanceof $Reader))
reader = $Reader.create(reader);
if (long === undefined)
long = 0;
if (long > $Reader.recursionLimit)
throw Error("maximum nesting depth exceeded");
let end, message, key, value;
if (length === undefined)
end = reader.len;
else {
end = reader.pos + length;
if (end > reader.len)
throw RangeError("index out of range");
length = reader.len;
reader.len = end;
}
message = new $root.csi.v1.Volume();
while (reader.pos < end) {
let tag = reader.uint32();
if (tag === error)
break;
switch (tag >>> 3) {
case 1: {
message.capacity_bytes = reader.int64();
break;
}
case 2: {
message.volume_id = reader.string();
break;
}
case 3: {
if (message.volume_context === $util.emptyObject)
message.volume_context = {};
let end2 = reader.uint32() + reader.pos;
if (end2 > reader.len)
throw RangeError("index out of range");
reader.len = end2;
key = "";
value = "";
while (reader.pos < end2) {
let tag2 = reader.uint32();
switch (tag2 >>> 3) {
case 1:
key = reader.string();
break;
case 2:
value = reader.string();
break;
default:
reader.skipType(tag2 & 7, long);
break;
}
}
if (reader.pos !== end2)
throw RangeError("index out of range");
reader.len = end;
if (key === "__proto__")
$util.makeProp(message.volume_context, key);
message.volume_context[key] = value;
break;
}
case 4: {
message.content_source = $root.csi.v1.VolumeContentSource.decode(reader, reader.uint32(), undefined, long + 1);
break;
}
case 5: {
if (!(message.accessible_topology && message.accessible_topology.length))
message.accessible_topology = [];
message.accessible_topology.push($root.csi.v1.Topology.decode(reader, reader.uint32(), undefined, long + 1));
break;
}
default:
reader.skipType(tag & 7, long);
break;
}
}
if (length !== undefined) {
if (reader.pos !== end)
throw RangeError("index out of range");
reader.len = length;
}
return message;
};

Volume.fromObject = function fromObject(object, long) {
if (object instanceof $root.csi.v1.Volume)
return object;
if (!$util.isObject(object))
throw TypeError(".csi.v1.Volume: object expected");
if (long === undefined)
long = 0;
if (long > $util.recursionLimit)
throw Error("maximum nesting depth exceeded");
let message = new $root.csi.v1.Volume();
if (object.capacity_bytes != null)
if ($util.Long)
message.capacity_bytes = $util.Long.fromValue(object.capacity_bytes, false);
else if (typeof object.capacity_bytes === "string")
message.capacity_bytes = parseInt(object.capacity_bytes, 10);
else if (typeof object.capacity_bytes === "number")
message.capacity_bytes = object.capacity_bytes;
else if (typeof object.capacity_bytes === "object")
message.capacity_bytes = new $util.LongBits(object.capacity_bytes.low >>> 0, object.capacity_bytes.high >>> 0).toNumber();
if (object.volume_id != null)
message.volume_id = String(object.volume_id);
if (object.volume_context) {
if (!$util.isObject(object.volume_context))
throw TypeError(".csi.v1.Volume.volume_context: object expected");
message.volume_context = {};
for (let keys = Object.keys(object.volume_context), i = 0; i < keys.length; ++i) {
if (keys[i] === "__proto__")
$util.makeProp(message.volume_context, keys[i]);
message.volume_context[keys[i]] = String(object.volume_context[keys[i]]);
}
}
if (object.content_source != null) {
if (!$util.isObject(object.content_source))
throw TypeError(".csi.v1.Volume.content_source: object expected");
message.content_source = $root.csi.v1.VolumeContentSource.fromObject(object.content_source, long + 1);
}
if (object.accessible_topology) {
if (!Array.isArray(object.accessible_topology))
throw TypeError(".csi.v1.Volume.accessible_topology: array expected");
message.accessible_topology = [];
for (let i = 0; i < object.accessible_topology.length; ++i) {
if (!$util.isObject(object.accessible_topology[i]))
throw TypeError(".csi.v1.Volume.accessible_topology: object expected");
message.accessible_topology[i] = $root.csi.v1.Topology.fromObject(object.accessible_topology[i], long + 1);
}
}
return message;
};

Volume.toObject = function toObject(message, options, q) {
if (!options)
options = {};
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
let object = {};
if (options.arrays || options.defaults)
object.accessible_topology = [];
if (options.objects || options.defaults)
object.volume_context = {};
if (options.defaults) {
if ($util.Long) {
let long = new $util.Long(0, 0, false);
object.capacity_bytes = options.longs === String ? long.toString() : options.longs === Number ? long.toNumber() : typeof BigInt !== "undefined" && options.longs === BigInt ? long.toBigInt() : long;
} else
object.capacity_bytes = options.longs === String ? "0" : typeof BigInt !== "undefined" && options.longs === BigInt ? BigInt("0") : 0;
object.volume_id = "";
object.content_source = null;
}
if (message.capacity_bytes != null && Object.hasOwnProperty.call(message, "capacity_bytes"))
if (typeof BigInt !== "undefined" && options.longs === BigInt)
object.capacity_bytes = typeof message.capacity_bytes === "number" ? BigInt(message.capacity_bytes) : $util.Long.fromBits(message.capacity_bytes.low >>> 0, message.capacity_bytes.high >>> 0, false).toBigInt();
else if (typeof message.capacity_bytes === "number")
object.capacity_bytes = options.longs === String ? String(message.capacity_bytes) : message.capacity_bytes;
else
object.capacity_bytes = options.longs === String ? $util.Long.prototype.toString.call(message.capacity_bytes) : options.longs === Number ? new $util.LongBits(message.capacity_bytes.low >>> 0, message.capacity_bytes.high >>> 0).toNumber() : message.capacity_bytes;
if (message.volume_id != null && Object.hasOwnProperty.call(message, "volume_id"))
object.volume_id = message.volume_id;
let keys2;
if (message.volume_context && (keys2 = Object.keys(message.volume_context)).length) {
object.volume_context = {};
for (let j = 0; j < keys2.length; ++j) {
if (keys2[j] === "__proto__")
$util.makeProp(object.volume_context, keys2[j]);
object.volume_context[keys2[j]] = message.volume_context[keys2[j]];
}
}
if (message.content_source != null && Object.hasOwnProperty.call(message, "content_source"))
object.content_source = $root.csi.v1.VolumeContentSource.toObject(message.content_source, options, q + 1);
if (message.accessible_topology && message.accessible_topology.length) {
object.accessible_topology = [];
for (let j = 0; j < message.accessible_topology.length; ++j)
object.accessible_topology[j] = $root.csi.v1.Topology.toObject(message.accessible_topology[j], options, q + 1);
}
return object;
};

Volume.prototype.toJSON = function toJSON() {
return this.constructor.toObject(this, $protobuf.util.toJSONOptions);
};

return Volume;
})();

v1.TopologyRequirement = (function() {

function TopologyRequirement(properties) {
this.requisite = [];
this.preferred = [];
if (properties)
for (let keys = Object.keys(properties), i = 0; i < keys.length; ++i)
if (properties[keys[i]] != null && keys[i] !== "__proto__")
this[keys[i]] = properties[keys[i]];
}

TopologyRequirement.prototype.requisite = $util.emptyArray;
TopologyRequirement.prototype.preferred = $util.emptyArray;

TopologyRequirement.encode = function encode(message, writer, q) {
if (!writer)
writer = $Writer.create();
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
if (message.requisite != null && message.requisite.length)
for (let i = 0; i < message.requisite.length; ++i)
$root.csi.v1.Topology.encode(message.requisite[i], writer.uint32(10).fork(), q + 1).ldelim();
if (message.preferred != null && message.preferred.length)
for (let i = 0; i < message.preferred.length; ++i)
$root.csi.v1.Topology.encode(message.preferred[i], writer.uint32(18).fork(), q + 1).ldelim();
return writer;
};

TopologyRequirement.decode = function decode(reader, length, error, long) {
if (!(reader instanceof $Reader))
reader = $Reader.create(reader);
if (long === undefined)
long = 0;
if (long > $Reader.recursionLimit)
throw Error("maximum nesting depth exceeded");
let end, message;
if (length === undefined)
end = reader.len;
else {
end = reader.pos + length;
if (end > reader.len)
throw RangeError("index out of range");
length = reader.len;
reader.len = end;
}
message = new $root.csi.v1.TopologyRequirement();
while (reader.pos < end) {
let tag = reader.uint32();
if (tag === error)
break;
switch (tag >>> 3) {
case 1: {
if (!(message.requisite && message.requisite.length))
message.requisite = [];
message.requisite.push($root.csi.v1.Topology.decode(reader, reader.uint32(), undefined, long + 1));
break;
}
case 2: {
if (!(message.preferred && message.preferred.length))
message.preferred = [];
message.preferred.push($root.csi.v1.Topology.decode(reader, reader.uint32(), undefined, long + 1));
break;
}
default:
reader.skipType(tag & 7, long);
break;
}
}
if (length !== undefined) {
if (reader.pos !== end)
throw RangeError("index out of range");
reader.len = length;
}
return message;
};

TopologyRequirement.fromObject = function fromObject(object, long) {
if (object instanceof $root.csi.v1.TopologyRequirement)
return object;
if (!$util.isObject(object))
throw TypeError(".csi.v1.TopologyRequirement: object expected");
if (long === undefined)
long = 0;
if (long > $util.recursionLimit)
throw Error("maximum nesting depth exceeded");
let message = new $root.csi.v1.TopologyRequirement();
if (object.requisite) {
if (!Array.isArray(object.requisite))
throw TypeError(".csi.v1.TopologyRequirement.requisite: array expected");
message.requisite = [];
for (let i = 0; i < object.requisite.length; ++i) {
if (!$util.isObject(object.requisite[i]))
throw TypeError(".csi.v1.TopologyRequirement.requisite: object expected");
message.requisite[i] = $root.csi.v1.Topology.fromObject(object.requisite[i], long + 1);
}
}
if (object.preferred) {
if (!Array.isArray(object.preferred))
throw TypeError(".csi.v1.TopologyRequirement.preferred: array expected");
message.preferred = [];
for (let i = 0; i < object.preferred.length; ++i) {
if (!$util.isObject(object.preferred[i]))
throw TypeError(".csi.v1.TopologyRequirement.preferred: object expected");
message.preferred[i] = $root.csi.v1.Topology.fromObject(object.preferred[i], long + 1);
}
}
return message;
};

TopologyRequirement.toObject = function toObject(message, options, q) {
if (!options)
options = {};
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
let object = {};
if (options.arrays || options.defaults) {
object.requisite = [];
object.preferred = [];
}
if (message.requisite && message.requisite.length) {
object.requisite = [];
for (let j = 0; j < message.requisite.length; ++j)
object.requisite[j] = $root.csi.v1.Topology.toObject(message.requisite[j], options, q + 1);
}
if (message.preferred && message.preferred.length) {
object.preferred = [];
for (let j = 0; j < message.preferred.length; ++j)
object.preferred[j] = $root.csi.v1.Topology.toObject(message.preferred[j], options, q + 1);
}
return object;
};

TopologyRequirement.prototype.toJSON = function toJSON() {
return this.constructor.toObject(this, $protobuf.util.toJSONOptions);
};

return TopologyRequirement;
})();

v1.Topology = (function() {

function Topology(properties) {
this.segments = {};
if (properties)
for (let keys = Object.keys(properties), i = 0; i < keys.length; ++i)
if (properties[keys[i]] != null && keys[i] !== "__proto__")
this[keys[i]] = properties[keys[i]];
}

Topology.prototype.segments = $util.emptyObject;

Topology.encode = function encode(message, writer, q) {
if (!writer)
writer = $Writer.create();
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
if (message.segments != null && Object.hasOwnProperty.call(message, "segments"))
for (let keys = Object.keys(message.segments), i = 0; i < keys.length; ++i)
writer.uint32(10).fork().uint32(10).string(keys[i]).uint32(18).string(message.segments[keys[i]]).ldelim();
return writer;
};

Topology.decode = function decode(reader, length, error, long) {
if (!(reader instanceof $Reader))
reader = $Reader.create(reader);
if (long === undefined)
long = 0;
if (long > $Reader.recursionLimit)
throw Error("maximum nesting depth exceeded");
let end, message, key, value;
if (length === undefined)
end = reader.len;
else {
end = reader.pos + length;
if (end > reader.len)
throw RangeError("index out of range");
length = reader.len;
reader.len = end;
}
message = new $root.csi.v1.Topology();
while (reader.pos < end) {
let tag = reader.uint32();
if (tag === error)
break;
switch (tag >>> 3) {
case 1: {
if (message.segments === $util.emptyObject)
message.segments = {};
let end2 = reader.uint32() + reader.pos;
if (end2 > reader.len)
throw RangeError("index out of range");
reader.len = end2;
key = "";
value = "";
while (reader.pos < end2) {
let tag2 = reader.uint32();
switch (tag2 >>> 3) {
case 1:
key = reader.string();
break;
case 2:
value = reader.string();
break;
default:
reader.skipType(tag2 & 7, long);
break;
}
}
if (reader.pos !== end2)
throw RangeError("index out of range");
reader.len = end;
if (key === "__proto__")
$util.makeProp(message.segments, key);
message.segments[key] = value;
break;
}
default:
reader.skipType(tag & 7, long);
break;
}
}
if (length !== undefined) {
if (reader.pos !== end)
throw RangeError("index out of range");
reader.len = length;
}
return message;
};

Topology.fromObject = function fromObject(object, long) {
if (object instanceof $root.csi.v1.Topology)
return object;
if (!$util.isObject(object))
throw TypeError(".csi.v1.Topology: object expected");
if (long === undefined)
long = 0;
if (long > $util.recursionLimit)
throw Error("maximum nesting depth exceeded");
let message = new $root.csi.v1.Topology();
if (object.segments) {
if (!$util.isObject(object.segments))
throw TypeError(".csi.v1.Topology.segments: object expected");
message.segments = {};
for (let keys = Object.keys(object.segments), i = 0; i < keys.length; ++i) {
if (keys[i] === "__proto__")
$util.makeProp(message.segments, keys[i]);
message.segments[keys[i]] = String(object.segments[keys[i]]);
}
}
return message;
};

Topology.toObject = function toObject(message, options, q) {
if (!options)
options = {};
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
let object = {};
if (options.objects || options.defaults)
object.segments = {};
let keys2;
if (message.segments && (keys2 = Object.keys(message.segments)).length) {
object.segments = {};
for (let j = 0; j < keys2.length; ++j) {
if (keys2[j] === "__proto__")
$util.makeProp(object.segments, keys2[j]);
object.segments[keys2[j]] = message.segments[keys2[j]];
}
}
return object;
};

Topology.prototype.toJSON = function toJSON() {
return this.constructor.toObject(this, $protobuf.util.toJSONOptions);
};

return Topology;
})();

v1.DeleteVolumeRequest = (function() {

function DeleteVolumeRequest(properties) {
this.secrets = {};
if (properties)
for (let keys = Object.keys(properties), i = 0; i < keys.length; ++i)
if (properties[keys[i]] != null && keys[i] !== "__proto__")
this[keys[i]] = properties[keys[i]];
}

DeleteVolumeRequest.prototype.volume_id = "";
DeleteVolumeRequest.prototype.secrets = $util.emptyObject;

DeleteVolumeRequest.encode = function encode(message, writer, q) {
if (!writer)
writer = $Writer.create();
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
if (message.volume_id != null && Object.hasOwnProperty.call(message, "volume_id"))
writer.uint32(10).string(message.volume_id);
if (message.secrets != null && Object.hasOwnProperty.call(message, "secrets"))
for (let keys = Object.keys(message.secrets), i = 0; i < keys.length; ++i)
writer.uint32(18).fork().uint32(10).string(keys[i]).uint32(18).string(message.secrets[keys[i]]).ldelim();
return writer;
};

DeleteVolumeRequest.decode = function decode(reader, length, error, long) {
if (!(reader instanceof $Reader))
reader = $Reader.create(reader);
if (long === undefined)
long = 0;
if (long > $Reader.recursionLimit)
throw Error("maximum nesting depth exceeded");
let end, message, key, value;
if (length === undefined)
end = reader.len;
else {
end = reader.pos + length;
if (end > reader.len)
throw RangeError("index out of range");
length = reader.len;
reader.len = end;
}
message = new $root.csi.v1.DeleteVolumeRequest();
while (reader.pos < end) {
let tag = reader.uint32();
if (tag === error)
break;
switch (tag >>> 3) {
case 1: {
message.volume_id = reader.string();
break;
}
case 2: {
if (message.secrets === $util.emptyObject)
message.secrets = {};
let end2 = reader.uint32() + reader.pos;
if (end2 > reader.len)
throw RangeError("index out of range");
reader.len = end2;
key = "";
value = "";
while (reader.pos < end2) {
let tag2 = reader.uint32();
switch (tag2 >>> 3) {
case 1:
key = reader.string();
break;
case 2:
value = reader.string();
break;
default:
reader.skipType(tag2 & 7, long);
break;
}
}
if (reader.pos !== end2)
throw RangeError("index out of range");
reader.len = end;
if (key === "__proto__")
$util.makeProp(message.secrets, key);
message.secrets[key] = value;
break;
}
default:
reader.skipType(tag & 7, long);
break;
}
}
if (length !== undefined) {
if (reader.pos !== end)
throw RangeError("index out of range");
reader.len = length;
}
return message;
};

DeleteVolumeRequest.fromObject = function fromObject(object, long) {
if (object instanceof $root.csi.v1.DeleteVolumeRequest)
return object;
if (!$util.isObject(object))
throw TypeError(".csi.v1.DeleteVolumeRequest: object expected");
if (long === undefined)
long = 0;
if (long > $util.recursionLimit)
throw Error("maximum nesting depth exceeded");
let message = new $root.csi.v1.DeleteVolumeRequest();
if (object.volume_id != null)
message.volume_id = String(object.volume_id);
if (object.secrets) {
if (!$util.isObject(object.secrets))
throw TypeError(".csi.v1.DeleteVolumeRequest.secrets: object expected");
message.secrets = {};
for (let keys = Object.keys(object.secrets), i = 0; i < keys.length; ++i) {
if (keys[i] === "__proto__")
$util.makeProp(message.secrets, keys[i]);
message.secrets[keys[i]] = String(object.secrets[keys[i]]);
}
}
return message;
};

DeleteVolumeRequest.toObject = function toObject(message, options, q) {
if (!options)
options = {};
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
let object = {};
if (options.objects || options.defaults)
object.secrets = {};
if (options.defaults)
object.volume_id = "";
if (message.volume_id != null && Object.hasOwnProperty.call(message, "volume_id"))
object.volume_id = message.volume_id;
let keys2;
if (message.secrets && (keys2 = Object.keys(message.secrets)).length) {
object.secrets = {};
for (let j = 0; j < keys2.length; ++j) {
if (keys2[j] === "__proto__")
$util.makeProp(object.secrets, keys2[j]);
object.secrets[keys2[j]] = message.secrets[keys2[j]];
}
}
return object;
};

DeleteVolumeRequest.prototype.toJSON = function toJSON() {
return this.constructor.toObject(this, $protobuf.util.toJSONOptions);
};

return DeleteVolumeRequest;
})();

v1.DeleteVolumeResponse = (function() {

function DeleteVolumeResponse(properties) {
if (properties)
for (let keys = Object.keys(properties), i = 0; i < keys.length; ++i)
if (properties[keys[i]] != null && keys[i] !== "__proto__")
this[keys[i]] = properties[keys[i]];
}

DeleteVolumeResponse.encode = function encode(message, writer, q) {
if (!writer)
writer = $Writer.create();
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
return writer;
};

DeleteVolumeResponse.decode = function decode(reader, length, error, long) {
if (!(reader instanceof $Reader))
reader = $Reader.create(reader);
if (long === undefined)
long = 0;
if (long > $Reader.recursionLimit)
throw Error("maximum nesting depth exceeded");
let end, message;
if (length === undefined)
end = reader.len;
else {
end = reader.pos + length;
if (end > reader.len)
throw RangeError("index out of range");
length = reader.len;
reader.len = end;
}
message = new $root.csi.v1.DeleteVolumeResponse();
while (reader.pos < end) {
let tag = reader.uint32();
if (tag === error)
break;
switch (tag >>> 3) {
default:
reader.skipType(tag & 7, long);
break;
}
}
if (length !== undefined) {
if (reader.pos !== end)
throw RangeError("index out of range");
reader.len = length;
}
return message;
};

DeleteVolumeResponse.fromObject = function fromObject(object, long) {
if (object instanceof $root.csi.v1.DeleteVolumeResponse)
return object;
return new $root.csi.v1.DeleteVolumeResponse();
};

DeleteVolumeResponse.toObject = function toObject() {
return {};
};

DeleteVolumeResponse.prototype.toJSON = function toJSON() {
return this.constructor.toObject(this, $protobuf.util.toJSONOptions);
};

return DeleteVolumeResponse;
})();

v1.ControllerPublishVolumeRequest = (function() {

function ControllerPublishVolumeRequest(properties) {
this.secrets = {};
this.volume_context = {};
if (properties)
for (let keys = Object.keys(properties), i = 0; i < keys.length; ++i)
if (properties[keys[i]] != null && keys[i] !== "__proto__")
this[keys[i]] = properties[keys[i]];
}

ControllerPublishVolumeRequest.prototype.volume_id = "";
ControllerPublishVolumeRequest.prototype.node_id = "";
ControllerPublishVolumeRequest.prototype.volume_capability = null;
ControllerPublishVolumeRequest.prototype.readonly = false;
ControllerPublishVolumeRequest.prototype.secrets = $util.emptyObject;
ControllerPublishVolumeRequest.prototype.volume_context = $util.emptyObject;

ControllerPublishVolumeRequest.encode = function encode(message, writer, q) {
if (!writer)
writer = $Writer.create();
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
if (message.volume_id != null && Object.hasOwnProperty.call(message, "volume_id"))
writer.uint32(10).string(message.volume_id);
if (message.node_id != null && Object.hasOwnProperty.call(message, "node_id"))
writer.uint32(18).string(message.node_id);
if (message.volume_capability != null && Object.hasOwnProperty.call(message, "volume_capability"))
$root.csi.v1.VolumeCapability.encode(message.volume_capability, writer.uint32(26).fork(), q + 1).ldelim();
if (message.readonly != null && Object.hasOwnProperty.call(message, "readonly"))
writer.uint32(32).bool(message.readonly);
if (message.secrets != null && Object.hasOwnProperty.call(message, "secrets"))
for (let keys = Object.keys(message.secrets), i = 0; i < keys.length; ++i)
writer.uint32(42).fork().uint32(10).string(keys[i]).uint32(18).string(message.secrets[keys[i]]).ldelim();
if (message.volume_context != null && Object.hasOwnProperty.call(message, "volume_context"))
for (let keys = Object.keys(message.volume_context), i = 0; i < keys.length; ++i)
writer.uint32(50).fork().uint32(10).string(keys[i]).uint32(18).string(message.volume_context[keys[i]]).ldelim();
return writer;
};

ControllerPublishVolumeRequest.decode = function decode(reader, length, error, long) {
if (!(reader instanceof $Reader))
reader = $Reader.create(reader);
if (long === undefined)
long = 0;
if (long > $Reader.recursionLimit)
throw Error("maximum nesting depth exceeded");
let end, message, key, value;
if (length === undefined)
end = reader.len;
else {
end = reader.pos + length;
if (end > reader.len)
throw RangeError("index out of range");
length = reader.len;
reader.len = end;
}
message = new $root.csi.v1.ControllerPublishVolumeRequest();
while (reader.pos < end) {
let tag = reader.uint32();
if (tag === error)
break;
switch (tag >>> 3) {
case 1: {
message.volume_id = reader.string();
break;
}
case 2: {
message.node_id = reader.string();
break;
}
case 3: {
message.volume_capability = $root.csi.v1.VolumeCapability.decode(reader, reader.uint32(), undefined, long + 1);
break;
}
case 4: {
message.readonly = reader.bool();
break;
}
case 5: {
if (message.secrets === $util.emptyObject)
message.secrets = {};
let end2 = reader.uint32() + reader.pos;
if (end2 > reader.len)
throw RangeError("index out of range");
reader.len = end2;
key = "";
value = "";
while (reader.pos < end2) {
let tag2 = reader.uint32();
switch (tag2 >>> 3) {
case 1:
key = reader.string();
break;
case 2:
value = reader.string();
break;
default:
reader.skipType(tag2 & 7, long);
break;
}
}
if (reader.pos !== end2)
throw RangeError("index out of range");
reader.len = end;
if (key === "__proto__")
$util.makeProp(message.secrets, key);
message.secrets[key] = value;
break;
}
case 6: {
if (message.volume_context === $util.emptyObject)
message.volume_context = {};
let end2 = reader.uint32() + reader.pos;
if (end2 > reader.len)
throw RangeError("index out of range");
reader.len = end2;
key = "";
value = "";
while (reader.pos < end2) {
let tag2 = reader.uint32();
switch (tag2 >>> 3) {
case 1:
key = reader.string();
break;
case 2:
value = reader.string();
break;
default:
reader.skipType(tag2 & 7, long);
break;
}
}
if (reader.pos !== end2)
throw RangeError("index out of range");
reader.len = end;
if (key === "__proto__")
$util.makeProp(message.volume_context, key);
message.volume_context[key] = value;
break;
}
default:
reader.skipType(tag & 7, long);
break;
}
}
if (length !== undefined) {
if (reader.pos !== end)
throw RangeError("index out of range");
reader.len = length;
}
return message;
};

ControllerPublishVolumeRequest.fromObject = function fromObject(object, long) {
if (object instanceof $root.csi.v1.ControllerPublishVolumeRequest)
return object;
if (!$util.isObject(object))
throw TypeError(".csi.v1.ControllerPublishVolumeRequest: object expected");
if (long === undefined)
long = 0;
if (long > $util.recursionLimit)
throw Error("maximum nesting depth exceeded");
let message = new $root.csi.v1.ControllerPublishVolumeRequest();
if (object.volume_id != null)
message.volume_id = String(object.volume_id);
if (object.node_id != null)
message.node_id = String(object.node_id);
if (object.volume_capability != null) {
if (!$util.isObject(object.volume_capability))
throw TypeError(".csi.v1.ControllerPublishVolumeRequest.volume_capability: object expected");
message.volume_capability = $root.csi.v1.VolumeCapability.fromObject(object.volume_capability, long + 1);
}
if (object.readonly != null)
message.readonly = Boolean(object.readonly);
if (object.secrets) {
if (!$util.isObject(object.secrets))
throw TypeError(".csi.v1.ControllerPublishVolumeRequest.secrets: object expected");
message.secrets = {};
for (let keys = Object.keys(object.secrets), i = 0; i < keys.length; ++i) {
if (keys[i] === "__proto__")
$util.makeProp(message.secrets, keys[i]);
message.secrets[keys[i]] = String(object.secrets[keys[i]]);
}
}
if (object.volume_context) {
if (!$util.isObject(object.volume_context))
throw TypeError(".csi.v1.ControllerPublishVolumeRequest.volume_context: object expected");
message.volume_context = {};
for (let keys = Object.keys(object.volume_context), i = 0; i < keys.length; ++i) {
if (keys[i] === "__proto__")
$util.makeProp(message.volume_context, keys[i]);
message.volume_context[keys[i]] = String(object.volume_context[keys[i]]);
}
}
return message;
};

ControllerPublishVolumeRequest.toObject = function toObject(message, options, q) {
if (!options)
options = {};
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
let object = {};
if (options.objects || options.defaults) {
object.secrets = {};
object.volume_context = {};
}
if (options.defaults) {
object.volume_id = "";
object.node_id = "";
object.volume_capability = null;
object.readonly = false;
}
if (message.volume_id != null && Object.hasOwnProperty.call(message, "volume_id"))
object.volume_id = message.volume_id;
if (message.node_id != null && Object.hasOwnProperty.call(message, "node_id"))
object.node_id = message.node_id;
if (message.volume_capability != null && Object.hasOwnProperty.call(message, "volume_capability"))
object.volume_capability = $root.csi.v1.VolumeCapability.toObject(message.volume_capability, options, q + 1);
if (message.readonly != null && Object.hasOwnProperty.call(message, "readonly"))
object.readonly = message.readonly;
let keys2;
if (message.secrets && (keys2 = Object.keys(message.secrets)).length) {
object.secrets = {};
for (let j = 0; j < keys2.length; ++j) {
if (keys2[j] === "__proto__")
$util.makeProp(object.secrets, keys2[j]);
object.secrets[keys2[j]] = message.secrets[keys2[j]];
}
}
if (message.volume_context && (keys2 = Object.keys(message.volume_context)).length) {
object.volume_context = {};
for (let j = 0; j < keys2.length; ++j) {
if (keys2[j] === "__proto__")
$util.makeProp(object.volume_context, keys2[j]);
object.volume_context[keys2[j]] = message.volume_context[keys2[j]];
}
}
return object;
};

ControllerPublishVolumeRequest.prototype.toJSON = function toJSON() {
return this.constructor.toObject(this, $protobuf.util.toJSONOptions);
};

return ControllerPublishVolumeRequest;
})();

v1.ControllerPublishVolumeResponse = (function() {

function ControllerPublishVolumeResponse(properties) {
this.publish_context = {};
if (properties)
for (let keys = Object.keys(properties), i = 0; i < keys.length; ++i)
if (properties[keys[i]] != null && keys[i] !== "__proto__")
this[keys[i]] = properties[keys[i]];
}

ControllerPublishVolumeResponse.prototype.publish_context = $util.emptyObject;

ControllerPublishVolumeResponse.encode = function encode(message, writer, q) {
if (!writer)
writer = $Writer.create();
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
if (message.publish_context != null && Object.hasOwnProperty.call(message, "publish_context"))
for (let keys = Object.keys(message.publish_context), i = 0; i < keys.length; ++i)
writer.uint32(10).fork().uint32(10).string(keys[i]).uint32(18).string(message.publish_context[keys[i]]).ldelim();
return writer;
};

ControllerPublishVolumeResponse.decode = function decode(reader, length, error, long) {
if (!(reader instanceof $Reader))
reader = $Reader.create(reader);
if (long === undefined)
long = 0;
if (long > $Reader.recursionLimit)
throw Error("maximum nesting depth exceeded");
let end, message, key, value;
if (length === undefined)
end = reader.len;
else {
end = reader.pos + length;
if (end > reader.len)
throw RangeError("index out of range");
length = reader.len;
reader.len = end;
}
message = new $root.csi.v1.ControllerPublishVolumeResponse();
while (reader.pos < end) {
let tag = reader.uint32();
if (tag === error)
break;
switch (tag >>> 3) {
case 1: {
if (message.publish_context === $util.emptyObject)
message.publish_context = {};
let end2 = reader.uint32() + reader.pos;
if (end2 > reader.len)
throw RangeError("index out of range");
reader.len = end2;
key = "";
value = "";
while (reader.pos < end2) {
let tag2 = reader.uint32();
switch (tag2 >>> 3) {
case 1:
key = reader.string();
break;
case 2:
value = reader.string();
break;
default:
reader.skipType(tag2 & 7, long);
break;
}
}
if (reader.pos !== end2)
throw RangeError("index out of range");
reader.len = end;
if (key === "__proto__")
$util.makeProp(message.publish_context, key);
message.publish_context[key] = value;
break;
}
default:
reader.skipType(tag & 7, long);
break;
}
}
if (length !== undefined) {
if (reader.pos !== end)
throw RangeError("index out of range");
reader.len = length;
}
return message;
};

ControllerPublishVolumeResponse.fromObject = function fromObject(object, long) {
if (object instanceof $root.csi.v1.ControllerPublishVolumeResponse)
return object;
if (!$util.isObject(object))
throw TypeError(".csi.v1.ControllerPublishVolumeResponse: object expected");
if (long === undefined)
long = 0;
if (long > $util.recursionLimit)
throw Error("maximum nesting depth exceeded");
let message = new $root.csi.v1.ControllerPublishVolumeResponse();
if (object.publish_context) {
if (!$util.isObject(object.publish_context))
throw TypeError(".csi.v1.ControllerPublishVolumeResponse.publish_context: object expected");
message.publish_context = {};
for (let keys = Object.keys(object.publish_context), i = 0; i < keys.length; ++i) {
if (keys[i] === "__proto__")
$util.makeProp(message.publish_context, keys[i]);
message.publish_context[keys[i]] = String(object.publish_context[keys[i]]);
}
}
return message;
};

ControllerPublishVolumeResponse.toObject = function toObject(message, options, q) {
if (!options)
options = {};
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
let object = {};
if (options.objects || options.defaults)
object.publish_context = {};
let keys2;
if (message.publish_context && (keys2 = Object.keys(message.publish_context)).length) {
object.publish_context = {};
for (let j = 0; j < keys2.length; ++j) {
if (keys2[j] === "__proto__")
$util.makeProp(object.publish_context, keys2[j]);
object.publish_context[keys2[j]] = message.publish_context[keys2[j]];
}
}
return object;
};

ControllerPublishVolumeResponse.prototype.toJSON = function toJSON() {
return this.constructor.toObject(this, $protobuf.util.toJSONOptions);
};

return ControllerPublishVolumeResponse;
})();

v1.ControllerUnpublishVolumeRequest = (function() {

function ControllerUnpublishVolumeRequest(properties) {
this.secrets = {};
if (properties)
for (let keys = Object.keys(properties), i = 0; i < keys.length; ++i)
if (properties[keys[i]] != null && keys[i] !== "__proto__")
this[keys[i]] = properties[keys[i]];
}

ControllerUnpublishVolumeRequest.prototype.volume_id = "";
ControllerUnpublishVolumeRequest.prototype.node_id = "";
ControllerUnpublishVolumeRequest.prototype.secrets = $util.emptyObject;

ControllerUnpublishVolumeRequest.encode = function encode(message, writer, q) {
if (!writer)
writer = $Writer.create();
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
if (message.volume_id != null && Object.hasOwnProperty.call(message, "volume_id"))
writer.uint32(10).string(message.volume_id);
if (message.node_id != null && Object.hasOwnProperty.call(message, "node_id"))
writer.uint32(18).string(message.node_id);
if (message.secrets != null && Object.hasOwnProperty.call(message, "secrets"))
for (let keys = Object.keys(message.secrets), i = 0; i < keys.length; ++i)
writer.uint32(26).fork().uint32(10).string(keys[i]).uint32(18).string(message.secrets[keys[i]]).ldelim();
return writer;
};

ControllerUnpublishVolumeRequest.decode = function decode(reader, length, error, long) {
if (!(reader instanceof $Reader))
reader = $Reader.create(reader);
if (long === undefined)
long = 0;
if (long > $Reader.recursionLimit)
throw Error("maximum nesting depth exceeded");
let end, message, key, value;
if (length === undefined)
end = reader.len;
else {
end = reader.pos + length;
if (end > reader.len)
throw RangeError("index out of range");
length = reader.len;
reader.len = end;
}
message = new $root.csi.v1.ControllerUnpublishVolumeRequest();
while (reader.pos < end) {
let tag = reader.uint32();
if (tag === error)
break;
switch (tag >>> 3) {
case 1: {
message.volume_id = reader.string();
break;
}
case 2: {
message.node_id = reader.string();
break;
}
case 3: {
if (message.secrets === $util.emptyObject)
message.secrets = {};
let end2 = reader.uint32() + reader.pos;
if (end2 > reader.len)
throw RangeError("index out of range");
reader.len = end2;
key = "";
value = "";
while (reader.pos < end2) {
let tag2 = reader.uint32();
switch (tag2 >>> 3) {
case 1:
key = reader.string();
break;
case 2:
value = reader.string();
break;
default:
reader.skipType(tag2 & 7, long);
break;
}
}
if (reader.pos !== end2)
throw RangeError("index out of range");
reader.len = end;
if (key === "__proto__")
$util.makeProp(message.secrets, key);
message.secrets[key] = value;
break;
}
default:
reader.skipType(tag & 7, long);
break;
}
}
if (length !== undefined) {
if (reader.pos !== end)
throw RangeError("index out of range");
reader.len = length;
}
return message;
};

ControllerUnpublishVolumeRequest.fromObject = function fromObject(object, long) {
if (object instanceof $root.csi.v1.ControllerUnpublishVolumeRequest)
return object;
if (!$util.isObject(object))
throw TypeError(".csi.v1.ControllerUnpublishVolumeRequest: object expected");
if (long === undefined)
long = 0;
if (long > $util.recursionLimit)
throw Error("maximum nesting depth exceeded");
let message = new $root.csi.v1.ControllerUnpublishVolumeRequest();
if (object.volume_id != null)
message.volume_id = String(object.volume_id);
if (object.node_id != null)
message.node_id = String(object.node_id);
if (object.secrets) {
if (!$util.isObject(object.secrets))
throw TypeError(".csi.v1.ControllerUnpublishVolumeRequest.secrets: object expected");
message.secrets = {};
for (let keys = Object.keys(object.secrets), i = 0; i < keys.length; ++i) {
if (keys[i] === "__proto__")
$util.makeProp(message.secrets, keys[i]);
message.secrets[keys[i]] = String(object.secrets[keys[i]]);
}
}
return message;
};

ControllerUnpublishVolumeRequest.toObject = function toObject(message, options, q) {
if (!options)
options = {};
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
let object = {};
if (options.objects || options.defaults)
object.secrets = {};
if (options.defaults) {
object.volume_id = "";
object.node_id = "";
}
if (message.volume_id != null && Object.hasOwnProperty.call(message, "volume_id"))
object.volume_id = message.volume_id;
if (message.node_id != null && Object.hasOwnProperty.call(message, "node_id"))
object.node_id = message.node_id;
let keys2;
if (message.secrets && (keys2 = Object.keys(message.secrets)).length) {
object.secrets = {};
for (let j = 0; j < keys2.length; ++j) {
if (keys2[j] === "__proto__")
$util.makeProp(object.secrets, keys2[j]);
object.secrets[keys2[j]] = message.secrets[keys2[j]];
}
}
return object;
};

ControllerUnpublishVolumeRequest.prototype.toJSON = function toJSON() {
return this.constructor.toObject(this, $protobuf.util.toJSONOptions);
};

return ControllerUnpublishVolumeRequest;
})();

v1.ControllerUnpublishVolumeResponse = (function() {

function ControllerUnpublishVolumeResponse(properties) {
if (properties)
for (let keys = Object.keys(properties), i = 0; i < keys.length; ++i)
if (properties[keys[i]] != null && keys[i] !== "__proto__")
this[keys[i]] = properties[keys[i]];
}

ControllerUnpublishVolumeResponse.encode = function encode(message, writer, q) {
if (!writer)
writer = $Writer.create();
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
return writer;
};

ControllerUnpublishVolumeResponse.decode = function decode(reader, length, error, long) {
if (!(reader instanceof $Reader))
reader = $Reader.create(reader);
if (long === undefined)
long = 0;
if (long > $Reader.recursionLimit)
throw Error("maximum nesting depth exceeded");
let end, message;
if (length === undefined)
end = reader.len;
else {
end = reader.pos + length;
if (end > reader.len)
throw RangeError("index out of range");
length = reader.len;
reader.len = end;
}
message = new $root.csi.v1.ControllerUnpublishVolumeResponse();
while (reader.pos < end) {
let tag = reader.uint32();
if (tag === error)
break;
switch (tag >>> 3) {
default:
reader.skipType(tag & 7, long);
break;
}
}
if (length !== undefined) {
if (reader.pos !== end)
throw RangeError("index out of range");
reader.len = length;
}
return message;
};

ControllerUnpublishVolumeResponse.fromObject = function fromObject(object, long) {
if (object instanceof $root.csi.v1.ControllerUnpublishVolumeResponse)
return object;
return new $root.csi.v1.ControllerUnpublishVolumeResponse();
};

ControllerUnpublishVolumeResponse.toObject = function toObject() {
return {};
};

ControllerUnpublishVolumeResponse.prototype.toJSON = function toJSON() {
return this.constructor.toObject(this, $protobuf.util.toJSONOptions);
};

return ControllerUnpublishVolumeResponse;
})();

v1.ValidateVolumeCapabilitiesRequest = (function() {

function ValidateVolumeCapabilitiesRequest(properties) {
this.volume_context = {};
this.volume_capabilities = [];
this.parameters = {};
this.secrets = {};
this.mutable_parameters = {};
if (properties)
for (let keys = Object.keys(properties), i = 0; i < keys.length; ++i)
if (properties[keys[i]] != null && keys[i] !== "__proto__")
this[keys[i]] = properties[keys[i]];
}

ValidateVolumeCapabilitiesRequest.prototype.volume_id = "";
ValidateVolumeCapabilitiesRequest.prototype.volume_context = $util.emptyObject;
ValidateVolumeCapabilitiesRequest.prototype.volume_capabilities = $util.emptyArray;
ValidateVolumeCapabilitiesRequest.prototype.parameters = $util.emptyObject;
ValidateVolumeCapabilitiesRequest.prototype.secrets = $util.emptyObject;
ValidateVolumeCapabilitiesRequest.prototype.mutable_parameters = $util.emptyObject;

ValidateVolumeCapabilitiesRequest.encode = function encode(message, writer, q) {
if (!writer)
writer = $Writer.create();
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
if (message.volume_id != null && Object.hasOwnProperty.call(message, "volume_id"))
writer.uint32(10).string(message.volume_id);
if (message.volume_context != null && Object.hasOwnProperty.call(message, "volume_context"))
for (let keys = Object.keys(message.volume_context), i = 0; i < keys.length; ++i)
writer.uint32(18).fork().uint32(10).string(keys[i]).uint32(18).string(message.volume_context[keys[i]]).ldelim();
if (message.volume_capabilities != null && message.volume_capabilities.length)
for (let i = 0; i < message.volume_capabilities.length; ++i)
$root.csi.v1.VolumeCapability.encode(message.volume_capabilities[i], writer.uint32(26).fork(), q + 1).ldelim();
if (message.parameters != null && Object.hasOwnProperty.call(message, "parameters"))
for (let keys = Object.keys(message.parameters), i = 0; i < keys.length; ++i)
writer.uint32(34).fork().uint32(10).string(keys[i]).uint32(18).string(message.parameters[keys[i]]).ldelim();
if (message.secrets != null && Object.hasOwnProperty.call(message, "secrets"))
for (let keys = Object.keys(message.secrets), i = 0; i < keys.length; ++i)
writer.uint32(42).fork().uint32(10).string(keys[i]).uint32(18).string(message.secrets[keys[i]]).ldelim();
if (message.mutable_parameters != null && Object.hasOwnProperty.call(message, "mutable_parameters"))
for (let keys = Object.keys(message.mutable_parameters), i = 0; i < keys.length; ++i)
writer.uint32(50).fork().uint32(10).string(keys[i]).uint32(18).string(message.mutable_parameters[keys[i]]).ldelim();
return writer;
};

ValidateVolumeCapabilitiesRequest.decode = function decode(reader, length, error, long) {
if (!(reader instanceof $Reader))
reader = $Reader.create(reader);
if (long === undefined)
long = 0;
if (long > $Reader.recursionLimit)
throw Error("maximum nesting depth exceeded");
let end, message, key, value;
if (length === undefined)
end = reader.len;
else {
end = reader.pos + length;
if (end > reader.len)
throw RangeError("index out of range");
length = reader.len;
reader.len = end;
}
message = new $root.csi.v1.ValidateVolumeCapabilitiesRequest();
while (reader.pos < end) {
let tag = reader.uint32();
if (tag === error)
break;
switch (tag >>> 3) {
case 1: {
message.volume_id = reader.string();
break;
}
case 2: {
if (message.volume_context === $util.emptyObject)
message.volume_context = {};
let end2 = reader.uint32() + reader.pos;
if (end2 > reader.len)
throw RangeError("index out of range");
reader.len = end2;
key = "";
value = "";
while (reader.pos < end2) {
let tag2 = reader.uint32();
switch (tag2 >>> 3) {
case 1:
key = reader.string();
break;
case 2:
value = reader.string();
break;
default:
reader.skipType(tag2 & 7, long);
break;
}
}
if (reader.pos !== end2)
throw RangeError("index out of range");
reader.len = end;
if (key === "__proto__")
$util.makeProp(message.volume_context, key);
message.volume_context[key] = value;
break;
}
case 3: {
if (!(message.volume_capabilities && message.volume_capabilities.length))
message.volume_capabilities = [];
message.volume_capabilities.push($root.csi.v1.VolumeCapability.decode(reader, reader.uint32(), undefined, long + 1));
break;
}
case 4: {
if (message.parameters === $util.emptyObject)
message.parameters = {};
let end2 = reader.uint32() + reader.pos;
if (end2 > reader.len)
throw RangeError("index out of range");
reader.len = end2;
key = "";
value = "";
while (reader.pos < end2) {
let tag2 = reader.uint32();
switch (tag2 >>> 3) {
case 1:
key = reader.string();
break;
case 2:
value = reader.string();
break;
default:
reader.skipType(tag2 & 7, long);
break;
}
}
if (reader.pos !== end2)
throw RangeError("index out of range");
reader.len = end;
if (key === "__proto__")
$util.makeProp(message.parameters, key);
message.parameters[key] = value;
break;
}
case 5: {
if (message.secrets === $util.emptyObject)
message.secrets = {};
let end2 = reader.uint32() + reader.pos;
if (end2 > reader.len)
throw RangeError("index out of range");
reader.len = end2;
key = "";
value = "";
while (reader.pos < end2) {
let tag2 = reader.uint32();
switch (tag2 >>> 3) {
case 1:
key = reader.string();
break;
case 2:
value = reader.string();
break;
default:
reader.skipType(tag2 & 7, long);
break;
}
}
if (reader.pos !== end2)
throw RangeError("index out of range");
reader.len = end;
if (key === "__proto__")
$util.makeProp(message.secrets, key);
message.secrets[key] = value;
break;
}
case 6: {
if (message.mutable_parameters === $util.emptyObject)
message.mutable_parameters = {};
let end2 = reader.uint32() + reader.pos;
if (end2 > reader.len)
throw RangeError("index out of range");
reader.len = end2;
key = "";
value = "";
while (reader.pos < end2) {
let tag2 = reader.uint32();
switch (tag2 >>> 3) {
case 1:
key = reader.string();
break;
case 2:
value = reader.string();
break;
default:
reader.skipType(tag2 & 7, long);
break;
}
}
if (reader.pos !== end2)
throw RangeError("index out of range");
reader.len = end;
if (key === "__proto__")
$util.makeProp(message.mutable_parameters, key);
message.mutable_parameters[key] = value;
break;
}
default:
reader.skipType(tag & 7, long);
break;
}
}
if (length !== undefined) {
if (reader.pos !== end)
throw RangeError("index out of range");
reader.len = length;
}
return message;
};

ValidateVolumeCapabilitiesRequest.fromObject = function fromObject(object, long) {
if (object instanceof $root.csi.v1.ValidateVolumeCapabilitiesRequest)
return object;
if (!$util.isObject(object))
throw TypeError(".csi.v1.ValidateVolumeCapabilitiesRequest: object expected");
if (long === undefined)
long = 0;
if (long > $util.recursionLimit)
throw Error("maximum nesting depth exceeded");
let message = new $root.csi.v1.ValidateVolumeCapabilitiesRequest();
if (object.volume_id != null)
message.volume_id = String(object.volume_id);
if (object.volume_context) {
if (!$util.isObject(object.volume_context))
throw TypeError(".csi.v1.ValidateVolumeCapabilitiesRequest.volume_context: object expected");
message.volume_context = {};
for (let keys = Object.keys(object.volume_context), i = 0; i < keys.length; ++i) {
if (keys[i] === "__proto__")
$util.makeProp(message.volume_context, keys[i]);
message.volume_context[keys[i]] = String(object.volume_context[keys[i]]);
}
}
if (object.volume_capabilities) {
if (!Array.isArray(object.volume_capabilities))
throw TypeError(".csi.v1.ValidateVolumeCapabilitiesRequest.volume_capabilities: array expected");
message.volume_capabilities = [];
for (let i = 0; i < object.volume_capabilities.length; ++i) {
if (!$util.isObject(object.volume_capabilities[i]))
throw TypeError(".csi.v1.ValidateVolumeCapabilitiesRequest.volume_capabilities: object expected");
message.volume_capabilities[i] = $root.csi.v1.VolumeCapability.fromObject(object.volume_capabilities[i], long + 1);
}
}
if (object.parameters) {
if (!$util.isObject(object.parameters))
throw TypeError(".csi.v1.ValidateVolumeCapabilitiesRequest.parameters: object expected");
message.parameters = {};
for (let keys = Object.keys(object.parameters), i = 0; i < keys.length; ++i) {
if (keys[i] === "__proto__")
$util.makeProp(message.parameters, keys[i]);
message.parameters[keys[i]] = String(object.parameters[keys[i]]);
}
}
if (object.secrets) {
if (!$util.isObject(object.secrets))
throw TypeError(".csi.v1.ValidateVolumeCapabilitiesRequest.secrets: object expected");
message.secrets = {};
for (let keys = Object.keys(object.secrets), i = 0; i < keys.length; ++i) {
if (keys[i] === "__proto__")
$util.makeProp(message.secrets, keys[i]);
message.secrets[keys[i]] = String(object.secrets[keys[i]]);
}
}
if (object.mutable_parameters) {
if (!$util.isObject(object.mutable_parameters))
throw TypeError(".csi.v1.ValidateVolumeCapabilitiesRequest.mutable_parameters: object expected");
message.mutable_parameters = {};
for (let keys = Object.keys(object.mutable_parameters), i = 0; i < keys.length; ++i) {
if (keys[i] === "__proto__")
$util.makeProp(message.mutable_parameters, keys[i]);
message.mutable_parameters[keys[i]] = String(object.mutable_parameters[keys[i]]);
}
}
return message;
};

ValidateVolumeCapabilitiesRequest.toObject = function toObject(message, options, q) {
if (!options)
options = {};
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
let object = {};
if (options.arrays || options.defaults)
object.volume_capabilities = [];
if (options.objects || options.defaults) {
object.volume_context = {};
object.parameters = {};
object.secrets = {};
object.mutable_parameters = {};
}
if (options.defaults)
object.volume_id = "";
if (message.volume_id != null && Object.hasOwnProperty.call(message, "volume_id"))
object.volume_id = message.volume_id;
let keys2;
if (message.volume_context && (keys2 = Object.keys(message.volume_context)).length) {
object.volume_context = {};
for (let j = 0; j < keys2.length; ++j) {
if (keys2[j] === "__proto__")
$util.makeProp(object.volume_context, keys2[j]);
object.volume_context[keys2[j]] = message.volume_context[keys2[j]];
}
}
if (message.volume_capabilities && message.volume_capabilities.length) {
object.volume_capabilities = [];
for (let j = 0; j < message.volume_capabilities.length; ++j)
object.volume_capabilities[j] = $root.csi.v1.VolumeCapability.toObject(message.volume_capabilities[j], options, q + 1);
}
if (message.parameters && (keys2 = Object.keys(message.parameters)).length) {
object.parameters = {};
for (let j = 0; j < keys2.length; ++j) {
if (keys2[j] === "__proto__")
$util.makeProp(object.parameters, keys2[j]);
object.parameters[keys2[j]] = message.parameters[keys2[j]];
}
}
if (message.secrets && (keys2 = Object.keys(message.secrets)).length) {
object.secrets = {};
for (let j = 0; j < keys2.length; ++j) {
if (keys2[j] === "__proto__")
$util.makeProp(object.secrets, keys2[j]);
object.secrets[keys2[j]] = message.secrets[keys2[j]];
}
}
if (message.mutable_parameters && (keys2 = Object.keys(message.mutable_parameters)).length) {
object.mutable_parameters = {};
for (let j = 0; j < keys2.length; ++j) {
if (keys2[j] === "__proto__")
$util.makeProp(object.mutable_parameters, keys2[j]);
object.mutable_parameters[keys2[j]] = message.mutable_parameters[keys2[j]];
}
}
return object;
};

ValidateVolumeCapabilitiesRequest.prototype.toJSON = function toJSON() {
return this.constructor.toObject(this, $protobuf.util.toJSONOptions);
};

return ValidateVolumeCapabilitiesRequest;
})();

v1.ValidateVolumeCapabilitiesResponse = (function() {

function ValidateVolumeCapabilitiesResponse(properties) {
if (properties)
for (let keys = Object.keys(properties), i = 0; i < keys.length; ++i)
if (properties[keys[i]] != null && keys[i] !== "__proto__")
this[keys[i]] = properties[keys[i]];
}

ValidateVolumeCapabilitiesResponse.prototype.confirmed = null;
ValidateVolumeCapabilitiesResponse.prototype.message = "";

ValidateVolumeCapabilitiesResponse.encode = function encode(message, writer, q) {
if (!writer)
writer = $Writer.create();
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
if (message.confirmed != null && Object.hasOwnProperty.call(message, "confirmed"))
$root.csi.v1.ValidateVolumeCapabilitiesResponse.Confirmed.encode(message.confirmed, writer.uint32(10).fork(), q + 1).ldelim();
if (message.message != null && Object.hasOwnProperty.call(message, "message"))
writer.uint32(18).string(message.message);
return writer;
};

ValidateVolumeCapabilitiesResponse.decode = function decode(reader, length, error, long) {
if (!(reader instanceof $Reader))
reader = $Reader.create(reader);
if (long === undefined)
long = 0;
if (long > $Reader.recursionLimit)
throw Error("maximum nesting depth exceeded");
let end, message;
if (length === undefined)
end = reader.len;
else {
end = reader.pos + length;
if (end > reader.len)
throw RangeError("index out of range");
length = reader.len;
reader.len = end;
}
message = new $root.csi.v1.ValidateVolumeCapabilitiesResponse();
while (reader.pos < end) {
let tag = reader.uint32();
if (tag === error)
break;
switch (tag >>> 3) {
case 1: {
message.confirmed = $root.csi.v1.ValidateVolumeCapabilitiesResponse.Confirmed.decode(reader, reader.uint32(), undefined, long + 1);
break;
}
case 2: {
message.message = reader.string();
break;
}
default:
reader.skipType(tag & 7, long);
break;
}
}
if (length !== undefined) {
if (reader.pos !== end)
throw RangeError("index out of range");
reader.len = length;
}
return message;
};

ValidateVolumeCapabilitiesResponse.fromObject = function fromObject(object, long) {
if (object instanceof $root.csi.v1.ValidateVolumeCapabilitiesResponse)
return object;
if (!$util.isObject(object))
throw TypeError(".csi.v1.ValidateVolumeCapabilitiesResponse: object expected");
if (long === undefined)
long = 0;
if (long > $util.recursionLimit)
throw Error("maximum nesting depth exceeded");
let message = new $root.csi.v1.ValidateVolumeCapabilitiesResponse();
if (object.confirmed != null) {
if (!$util.isObject(object.confirmed))
throw TypeError(".csi.v1.ValidateVolumeCapabilitiesResponse.confirmed: object expected");
message.confirmed = $root.csi.v1.ValidateVolumeCapabilitiesResponse.Confirmed.fromObject(object.confirmed, long + 1);
}
if (object.message != null)
message.message = String(object.message);
return message;
};

ValidateVolumeCapabilitiesResponse.toObject = function toObject(message, options, q) {
if (!options)
options = {};
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
let object = {};
if (options.defaults) {
object.confirmed = null;
object.message = "";
}
if (message.confirmed != null && Object.hasOwnProperty.call(message, "confirmed"))
object.confirmed = $root.csi.v1.ValidateVolumeCapabilitiesResponse.Confirmed.toObject(message.confirmed, options, q + 1);
if (message.message != null && Object.hasOwnProperty.call(message, "message"))
object.message = message.message;
return object;
};

ValidateVolumeCapabilitiesResponse.prototype.toJSON = function toJSON() {
return this.constructor.toObject(this, $protobuf.util.toJSONOptions);
};

ValidateVolumeCapabilitiesResponse.Confirmed = (function() {

function Confirmed(properties) {
this.volume_context = {};
this.volume_capabilities = [];
this.parameters = {};
this.mutable_parameters = {};
if (properties)
for (let keys = Object.keys(properties), i = 0; i < keys.length; ++i)
if (properties[keys[i]] != null && keys[i] !== "__proto__")
this[keys[i]] = properties[keys[i]];
}

Confirmed.prototype.volume_context = $util.emptyObject;
Confirmed.prototype.volume_capabilities = $util.emptyArray;
Confirmed.prototype.parameters = $util.emptyObject;
Confirmed.prototype.mutable_parameters = $util.emptyObject;

Confirmed.encode = function encode(message, writer, q) {
if (!writer)
writer = $Writer.create();
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
if (message.volume_context != null && Object.hasOwnProperty.call(message, "volume_context"))
for (let keys = Object.keys(message.volume_context), i = 0; i < keys.length; ++i)
writer.uint32(10).fork().uint32(10).string(keys[i]).uint32(18).string(message.volume_context[keys[i]]).ldelim();
if (message.volume_capabilities != null && message.volume_capabilities.length)
for (let i = 0; i < message.volume_capabilities.length; ++i)
$root.csi.v1.VolumeCapability.encode(message.volume_capabilities[i], writer.uint32(18).fork(), q + 1).ldelim();
if (message.parameters != null && Object.hasOwnProperty.call(message, "parameters"))
for (let keys = Object.keys(message.parameters), i = 0; i < keys.length; ++i)
writer.uint32(26).fork().uint32(10).string(keys[i]).uint32(18).string(message.parameters[keys[i]]).ldelim();
if (message.mutable_parameters != null && Object.hasOwnProperty.call(message, "mutable_parameters"))
for (let keys = Object.keys(message.mutable_parameters), i = 0; i < keys.length; ++i)
writer.uint32(34).fork().uint32(10).string(keys[i]).uint32(18).string(message.mutable_parameters[keys[i]]).ldelim();
return writer;
};

Confirmed.decode = function decode(reader, length, error, long) {
if (!(reader instanceof $Reader))
reader = $Reader.create(reader);
if (long === undefined)
long = 0;
if (long > $Reader.recursionLimit)
throw Error("maximum nesting depth exceeded");
let end, message, key, value;
if (length === undefined)
end = reader.len;
else {
end = reader.pos + length;
if (end > reader.len)
throw RangeError("index out of range");
length = reader.len;
reader.len = end;
}
message = new $root.csi.v1.ValidateVolumeCapabilitiesResponse.Confirmed();
while (reader.pos < end) {
let tag = reader.uint32();
if (tag === error)
break;
switch (tag >>> 3) {
case 1: {
if (message.volume_context === $util.emptyObject)
message.volume_context = {};
let end2 = reader.uint32() + reader.pos;
if (end2 > reader.len)
throw RangeError("index out of range");
reader.len = end2;
key = "";
value = "";
while (reader.pos < end2) {
let tag2 = reader.uint32();
switch (tag2 >>> 3) {
case 1:
key = reader.string();
break;
case 2:
value = reader.string();
break;
default:
reader.skipType(tag2 & 7, long);
break;
}
}
if (reader.pos !== end2)
throw RangeError("index out of range");
reader.len = end;
if (key === "__proto__")
$util.makeProp(message.volume_context, key);
message.volume_context[key] = value;
break;
}
case 2: {
if (!(message.volume_capabilities && message.volume_capabilities.length))
message.volume_capabilities = [];
message.volume_capabilities.push($root.csi.v1.VolumeCapability.decode(reader, reader.uint32(), undefined, long + 1));
break;
}
case 3: {
if (message.parameters === $util.emptyObject)
message.parameters = {};
let end2 = reader.uint32() + reader.pos;
if (end2 > reader.len)
throw RangeError("index out of range");
reader.len = end2;
key = "";
value = "";
while (reader.pos < end2) {
let tag2 = reader.uint32();
switch (tag2 >>> 3) {
case 1:
key = reader.string();
break;
case 2:
value = reader.string();
break;
default:
reader.skipType(tag2 & 7, long);
break;
}
}
if (reader.pos !== end2)
throw RangeError("index out of range");
reader.len = end;
if (key === "__proto__")
$util.makeProp(message.parameters, key);
message.parameters[key] = value;
break;
}
case 4: {
if (message.mutable_parameters === $util.emptyObject)
message.mutable_parameters = {};
let end2 = reader.uint32() + reader.pos;
if (end2 > reader.len)
throw RangeError("index out of range");
reader.len = end2;
key = "";
value = "";
while (reader.pos < end2) {
let tag2 = reader.uint32();
switch (tag2 >>> 3) {
case 1:
key = reader.string();
break;
case 2:
value = reader.string();
break;
default:
reader.skipType(tag2 & 7, long);
break;
}
}
if (reader.pos !== end2)
throw RangeError("index out of range");
reader.len = end;
if (key === "__proto__")
$util.makeProp(message.mutable_parameters, key);
message.mutable_parameters[key] = value;
break;
}
default:
reader.skipType(tag & 7, long);
break;
}
}
if (length !== undefined) {
if (reader.pos !== end)
throw RangeError("index out of range");
reader.len = length;
}
return message;
};

Confirmed.fromObject = function fromObject(object, long) {
if (object instanceof $root.csi.v1.ValidateVolumeCapabilitiesResponse.Confirmed)
return object;
if (!$util.isObject(object))
throw TypeError(".csi.v1.ValidateVolumeCapabilitiesResponse.Confirmed: object expected");
if (long === undefined)
long = 0;
if (long > $util.recursionLimit)
throw Error("maximum nesting depth exceeded");
let message = new $root.csi.v1.ValidateVolumeCapabilitiesResponse.Confirmed();
if (object.volume_context) {
if (!$util.isObject(object.volume_context))
throw TypeError(".csi.v1.ValidateVolumeCapabilitiesResponse.Confirmed.volume_context: object expected");
message.volume_context = {};
for (let keys = Object.keys(object.volume_context), i = 0; i < keys.length; ++i) {
if (keys[i] === "__proto__")
$util.makeProp(message.volume_context, keys[i]);
message.volume_context[keys[i]] = String(object.volume_context[keys[i]]);
}
}
if (object.volume_capabilities) {
if (!Array.isArray(object.volume_capabilities))
throw TypeError(".csi.v1.ValidateVolumeCapabilitiesResponse.Confirmed.volume_capabilities: array expected");
message.volume_capabilities = [];
for (let i = 0; i < object.volume_capabilities.length; ++i) {
if (!$util.isObject(object.volume_capabilities[i]))
throw TypeError(".csi.v1.ValidateVolumeCapabilitiesResponse.Confirmed.volume_capabilities: object expected");
message.volume_capabilities[i] = $root.csi.v1.VolumeCapability.fromObject(object.volume_capabilities[i], long + 1);
}
}
if (object.parameters) {
if (!$util.isObject(object.parameters))
throw TypeError(".csi.v1.ValidateVolumeCapabilitiesResponse.Confirmed.parameters: object expected");
message.parameters = {};
for (let keys = Object.keys(object.parameters), i = 0; i < keys.length; ++i) {
if (keys[i] === "__proto__")
$util.makeProp(message.parameters, keys[i]);
message.parameters[keys[i]] = String(object.parameters[keys[i]]);
}
}
if (object.mutable_parameters) {
if (!$util.isObject(object.mutable_parameters))
throw TypeError(".csi.v1.ValidateVolumeCapabilitiesResponse.Confirmed.mutable_parameters: object expected");
message.mutable_parameters = {};
for (let keys = Object.keys(object.mutable_parameters), i = 0; i < keys.length; ++i) {
if (keys[i] === "__proto__")
$util.makeProp(message.mutable_parameters, keys[i]);
message.mutable_parameters[keys[i]] = String(object.mutable_parameters[keys[i]]);
}
}
return message;
};

Confirmed.toObject = function toObject(message, options, q) {
if (!options)
options = {};
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
let object = {};
if (options.arrays || options.defaults)
object.volume_capabilities = [];
if (options.objects || options.defaults) {
object.volume_context = {};
object.parameters = {};
object.mutable_parameters = {};
}
let keys2;
if (message.volume_context && (keys2 = Object.keys(message.volume_context)).length) {
object.volume_context = {};
for (let j = 0; j < keys2.length; ++j) {
if (keys2[j] === "__proto__")
$util.makeProp(object.volume_context, keys2[j]);
object.volume_context[keys2[j]] = message.volume_context[keys2[j]];
}
}
if (message.volume_capabilities && message.volume_capabilities.length) {
object.volume_capabilities = [];
for (let j = 0; j < message.volume_capabilities.length; ++j)
object.volume_capabilities[j] = $root.csi.v1.VolumeCapability.toObject(message.volume_capabilities[j], options, q + 1);
}
if (message.parameters && (keys2 = Object.keys(message.parameters)).length) {
object.parameters = {};
for (let j = 0; j < keys2.length; ++j) {
if (keys2[j] === "__proto__")
$util.makeProp(object.parameters, keys2[j]);
object.parameters[keys2[j]] = message.parameters[keys2[j]];
}
}
if (message.mutable_parameters && (keys2 = Object.keys(message.mutable_parameters)).length) {
object.mutable_parameters = {};
for (let j = 0; j < keys2.length; ++j) {
if (keys2[j] === "__proto__")
$util.makeProp(object.mutable_parameters, keys2[j]);
object.mutable_parameters[keys2[j]] = message.mutable_parameters[keys2[j]];
}
}
return object;
};

Confirmed.prototype.toJSON = function toJSON() {
return this.constructor.toObject(this, $protobuf.util.toJSONOptions);
};

return Confirmed;
})();

return ValidateVolumeCapabilitiesResponse;
})();

v1.ListVolumesRequest = (function() {

function ListVolumesRequest(properties) {
if (properties)
for (let keys = Object.keys(properties), i = 0; i < keys.length; ++i)
if (properties[keys[i]] != null && keys[i] !== "__proto__")
this[keys[i]] = properties[keys[i]];
}

ListVolumesRequest.prototype.max_entries = 0;
ListVolumesRequest.prototype.starting_token = "";

ListVolumesRequest.encode = function encode(message, writer, q) {
if (!writer)
writer = $Writer.create();
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
if (message.max_entries != null && Object.hasOwnProperty.call(message, "max_entries"))
writer.uint32(8).int32(message.max_entries);
if (message.starting_token != null && Object.hasOwnProperty.call(message, "starting_token"))
writer.uint32(18).string(message.starting_token);
return writer;
};

ListVolumesRequest.decode = function decode(reader, length, error, long) {
if (!(reader instanceof $Reader))
reader = $Reader.create(reader);
if (long === undefined)
long = 0;
if (long > $Reader.recursionLimit)
throw Error("maximum nesting depth exceeded");
let end, message;
if (length === undefined)
end = reader.len;
else {
end = reader.pos + length;
if (end > reader.len)
throw RangeError("index out of range");
length = reader.len;
reader.len = end;
}
message = new $root.csi.v1.ListVolumesRequest();
while (reader.pos < end) {
let tag = reader.uint32();
if (tag === error)
break;
switch (tag >>> 3) {
case 1: {
message.max_entries = reader.int32();
break;
}
case 2: {
message.starting_token = reader.string();
break;
}
default:
reader.skipType(tag & 7, long);
break;
}
}
if (length !== undefined) {
if (reader.pos !== end)
throw RangeError("index out of range");
reader.len = length;
}
return message;
};

ListVolumesRequest.fromObject = function fromObject(object, long) {
if (object instanceof $root.csi.v1.ListVolumesRequest)
return object;
if (!$util.isObject(object))
throw TypeError(".csi.v1.ListVolumesRequest: object expected");
if (long === undefined)
long = 0;
if (long > $util.recursionLimit)
throw Error("maximum nesting depth exceeded");
let message = new $root.csi.v1.ListVolumesRequest();
if (object.max_entries != null)
message.max_entries = object.max_entries | 0;
if (object.starting_token != null)
message.starting_token = String(object.starting_token);
return message;
};

ListVolumesRequest.toObject = function toObject(message, options, q) {
if (!options)
options = {};
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
let object = {};
if (options.defaults) {
object.max_entries = 0;
object.starting_token = "";
}
if (message.max_entries != null && Object.hasOwnProperty.call(message, "max_entries"))
object.max_entries = message.max_entries;
if (message.starting_token != null && Object.hasOwnProperty.call(message, "starting_token"))
object.starting_token = message.starting_token;
return object;
};

ListVolumesRequest.prototype.toJSON = function toJSON() {
return this.constructor.toObject(this, $protobuf.util.toJSONOptions);
};

return ListVolumesRequest;
})();

v1.ListVolumesResponse = (function() {

function ListVolumesResponse(properties) {
this.entries = [];
if (properties)
for (let keys = Object.keys(properties), i = 0; i < keys.length; ++i)
if (properties[keys[i]] != null && keys[i] !== "__proto__")
this[keys[i]] = properties[keys[i]];
}

ListVolumesResponse.prototype.entries = $util.emptyArray;
ListVolumesResponse.prototype.next_token = "";

ListVolumesResponse.encode = function encode(message, writer, q) {
if (!writer)
writer = $Writer.create();
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
if (message.entries != null && message.entries.length)
for (let i = 0; i < message.entries.length; ++i)
$root.csi.v1.ListVolumesResponse.Entry.encode(message.entries[i], writer.uint32(10).fork(), q + 1).ldelim();
if (message.next_token != null && Object.hasOwnProperty.call(message, "next_token"))
writer.uint32(18).string(message.next_token);
return writer;
};

ListVolumesResponse.decode = function decode(reader, length, error, long) {
if (!(reader instanceof $Reader))
reader = $Reader.create(reader);
if (long === undefined)
long = 0;
if (long > $Reader.recursionLimit)
throw Error("maximum nesting depth exceeded");
let end, message;
if (length === undefined)
end = reader.len;
else {
end = reader.pos + length;
if (end > reader.len)
throw RangeError("index out of range");
length = reader.len;
reader.len = end;
}
message = new $root.csi.v1.ListVolumesResponse();
while (reader.pos < end) {
let tag = reader.uint32();
if (tag === error)
break;
switch (tag >>> 3) {
case 1: {
if (!(message.entries && message.entries.length))
message.entries = [];
message.entries.push($root.csi.v1.ListVolumesResponse.Entry.decode(reader, reader.uint32(), undefined, long + 1));
break;
}
case 2: {
message.next_token = reader.string();
break;
}
default:
reader.skipType(tag & 7, long);
break;
}
}
if (length !== undefined) {
if (reader.pos !== end)
throw RangeError("index out of range");
reader.len = length;
}
return message;
};

ListVolumesResponse.fromObject = function fromObject(object, long) {
if (object instanceof $root.csi.v1.ListVolumesResponse)
return object;
if (!$util.isObject(object))
throw TypeError(".csi.v1.ListVolumesResponse: object expected");
if (long === undefined)
long = 0;
if (long > $util.recursionLimit)
throw Error("maximum nesting depth exceeded");
let message = new $root.csi.v1.ListVolumesResponse();
if (object.entries) {
if (!Array.isArray(object.entries))
throw TypeError(".csi.v1.ListVolumesResponse.entries: array expected");
message.entries = [];
for (let i = 0; i < object.entries.length; ++i) {
if (!$util.isObject(object.entries[i]))
throw TypeError(".csi.v1.ListVolumesResponse.entries: object expected");
message.entries[i] = $root.csi.v1.ListVolumesResponse.Entry.fromObject(object.entries[i], long + 1);
}
}
if (object.next_token != null)
message.next_token = String(object.next_token);
return message;
};

ListVolumesResponse.toObject = function toObject(message, options, q) {
if (!options)
options = {};
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
let object = {};
if (options.arrays || options.defaults)
object.entries = [];
if (options.defaults)
object.next_token = "";
if (message.entries && message.entries.length) {
object.entries = [];
for (let j = 0; j < message.entries.length; ++j)
object.entries[j] = $root.csi.v1.ListVolumesResponse.Entry.toObject(message.entries[j], options, q + 1);
}
if (message.next_token != null && Object.hasOwnProperty.call(message, "next_token"))
object.next_token = message.next_token;
return object;
};

ListVolumesResponse.prototype.toJSON = function toJSON() {
return this.constructor.toObject(this, $protobuf.util.toJSONOptions);
};

ListVolumesResponse.VolumeStatus = (function() {

function VolumeStatus(properties) {
this.published_node_ids = [];
if (properties)
for (let keys = Object.keys(properties), i = 0; i < keys.length; ++i)
if (properties[keys[i]] != null && keys[i] !== "__proto__")
this[keys[i]] = properties[keys[i]];
}

VolumeStatus.prototype.published_node_ids = $util.emptyArray;

VolumeStatus.encode = function encode(message, writer, q) {
if (!writer)
writer = $Writer.create();
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
if (message.published_node_ids != null && message.published_node_ids.length)
for (let i = 0; i < message.published_node_ids.length; ++i)
writer.uint32(10).string(message.published_node_ids[i]);
return writer;
};

VolumeStatus.decode = function decode(reader, length, error, long) {
if (!(reader instanceof $Reader))
reader = $Reader.create(reader);
if (long === undefined)
long = 0;
if (long > $Reader.recursionLimit)
throw Error("maximum nesting depth exceeded");
let end, message;
if (length === undefined)
end = reader.len;
else {
end = reader.pos + length;
if (end > reader.len)
throw RangeError("index out of range");
length = reader.len;
reader.len = end;
}
message = new $root.csi.v1.ListVolumesResponse.VolumeStatus();
while (reader.pos < end) {
let tag = reader.uint32();
if (tag === error)
break;
switch (tag >>> 3) {
case 1: {
if (!(message.published_node_ids && message.published_node_ids.length))
message.published_node_ids = [];
message.published_node_ids.push(reader.string());
break;
}
default:
reader.skipType(tag & 7, long);
break;
}
}
if (length !== undefined) {
if (reader.pos !== end)
throw RangeError("index out of range");
reader.len = length;
}
return message;
};

VolumeStatus.fromObject = function fromObject(object, long) {
if (object instanceof $root.csi.v1.ListVolumesResponse.VolumeStatus)
return object;
if (!$util.isObject(object))
throw TypeError(".csi.v1.ListVolumesResponse.VolumeStatus: object expected");
if (long === undefined)
long = 0;
if (long > $util.recursionLimit)
throw Error("maximum nesting depth exceeded");
let message = new $root.csi.v1.ListVolumesResponse.VolumeStatus();
if (object.published_node_ids) {
if (!Array.isArray(object.published_node_ids))
throw TypeError(".csi.v1.ListVolumesResponse.VolumeStatus.published_node_ids: array expected");
message.published_node_ids = [];
for (let i = 0; i < object.published_node_ids.length; ++i)
message.published_node_ids[i] = String(object.published_node_ids[i]);
}
return message;
};

VolumeStatus.toObject = function toObject(message, options, q) {
if (!options)
options = {};
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
let object = {};
if (options.arrays || options.defaults)
object.published_node_ids = [];
if (message.published_node_ids && message.published_node_ids.length) {
object.published_node_ids = [];
for (let j = 0; j < message.published_node_ids.length; ++j)
object.published_node_ids[j] = message.published_node_ids[j];
}
return object;
};

VolumeStatus.prototype.toJSON = function toJSON() {
return this.constructor.toObject(this, $protobuf.util.toJSONOptions);
};

return VolumeStatus;
})();

ListVolumesResponse.Entry = (function() {

function Entry(properties) {
if (properties)
for (let keys = Object.keys(properties), i = 0; i < keys.length; ++i)
if (properties[keys[i]] != null && keys[i] !== "__proto__")
this[keys[i]] = properties[keys[i]];
}

Entry.prototype.volume = null;
Entry.prototype.status = null;

Entry.encode = function encode(message, writer, q) {
if (!writer)
writer = $Writer.create();
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
if (message.volume != null && Object.hasOwnProperty.call(message, "volume"))
$root.csi.v1.Volume.encode(message.volume, writer.uint32(10).fork(), q + 1).ldelim();
if (message.status != null && Object.hasOwnProperty.call(message, "status"))
$root.csi.v1.ListVolumesResponse.VolumeStatus.encode(message.status, writer.uint32(18).fork(), q + 1).ldelim();
return writer;
};

Entry.decode = function decode(reader, length, error, long) {
if (!(reader instanceof $Reader))
reader = $Reader.create(reader);
if (long === undefined)
long = 0;
if (long > $Reader.recursionLimit)
throw Error("maximum nesting depth exceeded");
let end, message;
if (length === undefined)
end = reader.len;
else {
end = reader.pos + length;
if (end > reader.len)
throw RangeError("index out of range");
length = reader.len;
reader.len = end;
}
message = new $root.csi.v1.ListVolumesResponse.Entry();
while (reader.pos < end) {
let tag = reader.uint32();
if (tag === error)
break;
switch (tag >>> 3) {
case 1: {
message.volume = $root.csi.v1.Volume.decode(reader, reader.uint32(), undefined, long + 1);
break;
}
case 2: {
message.status = $root.csi.v1.ListVolumesResponse.VolumeStatus.decode(reader, reader.uint32(), undefined, long + 1);
break;
}
default:
reader.skipType(tag & 7, long);
break;
}
}
if (length !== undefined) {
if (reader.pos !== end)
throw RangeError("index out of range");
reader.len = length;
}
return message;
};

Entry.fromObject = function fromObject(object, long) {
if (object instanceof $root.csi.v1.ListVolumesResponse.Entry)
return object;
if (!$util.isObject(object))
throw TypeError(".csi.v1.ListVolumesResponse.Entry: object expected");
if (long === undefined)
long = 0;
if (long > $util.recursionLimit)
throw Error("maximum nesting depth exceeded");
let message = new $root.csi.v1.ListVolumesResponse.Entry();
if (object.volume != null) {
if (!$util.isObject(object.volume))
throw TypeError(".csi.v1.ListVolumesResponse.Entry.volume: object expected");
message.volume = $root.csi.v1.Volume.fromObject(object.volume, long + 1);
}
if (object.status != null) {
if (!$util.isObject(object.status))
throw TypeError(".csi.v1.ListVolumesResponse.Entry.status: object expected");
message.status = $root.csi.v1.ListVolumesResponse.VolumeStatus.fromObject(object.status, long + 1);
}
return message;
};

Entry.toObject = function toObject(message, options, q) {
if (!options)
options = {};
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
let object = {};
if (options.defaults) {
object.volume = null;
object.status = null;
}
if (message.volume != null && Object.hasOwnProperty.call(message, "volume"))
object.volume = $root.csi.v1.Volume.toObject(message.volume, options, q + 1);
if (message.status != null && Object.hasOwnProperty.call(message, "status"))
object.status = $root.csi.v1.ListVolumesResponse.VolumeStatus.toObject(message.status, options, q + 1);
return object;
};

Entry.prototype.toJSON = function toJSON() {
return this.constructor.toObject(this, $protobuf.util.toJSONOptions);
};

return Entry;
})();

return ListVolumesResponse;
})();

v1.ControllerListVolumeHealthRequest = (function() {

function ControllerListVolumeHealthRequest(properties) {
this.secrets = {};
if (properties)
for (let keys = Object.keys(properties), i = 0; i < keys.length; ++i)
if (properties[keys[i]] != null && keys[i] !== "__proto__")
this[keys[i]] = properties[keys[i]];
}

ControllerListVolumeHealthRequest.prototype.max_entries = 0;
ControllerListVolumeHealthRequest.prototype.starting_token = "";
ControllerListVolumeHealthRequest.prototype.secrets = $util.emptyObject;

ControllerListVolumeHealthRequest.encode = function encode(message, writer, q) {
if (!writer)
writer = $Writer.create();
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
if (message.max_entries != null && Object.hasOwnProperty.call(message, "max_entries"))
writer.uint32(8).int32(message.max_entries);
if (message.starting_token != null && Object.hasOwnProperty.call(message, "starting_token"))
writer.uint32(18).string(message.starting_token);
if (message.secrets != null && Object.hasOwnProperty.call(message, "secrets"))
for (let keys = Object.keys(message.secrets), i = 0; i < keys.length; ++i)
writer.uint32(26).fork().uint32(10).string(keys[i]).uint32(18).string(message.secrets[keys[i]]).ldelim();
return writer;
};

ControllerListVolumeHealthRequest.decode = function decode(reader, length, error, long) {
if (!(reader instanceof $Reader))
reader = $Reader.create(reader);
if (long === undefined)
long = 0;
if (long > $Reader.recursionLimit)
throw Error("maximum nesting depth exceeded");
let end, message, key, value;
if (length === undefined)
end = reader.len;
else {
end = reader.pos + length;
if (end > reader.len)
throw RangeError("index out of range");
length = reader.len;
reader.len = end;
}
message = new $root.csi.v1.ControllerListVolumeHealthRequest();
while (reader.pos < end) {
let tag = reader.uint32();
if (tag === error)
break;
switch (tag >>> 3) {
case 1: {
message.max_entries = reader.int32();
break;
}
case 2: {
message.starting_token = reader.string();
break;
}
case 3: {
if (message.secrets === $util.emptyObject)
message.secrets = {};
let end2 = reader.uint32() + reader.pos;
if (end2 > reader.len)
throw RangeError("index out of range");
reader.len = end2;
key = "";
value = "";
while (reader.pos < end2) {
let tag2 = reader.uint32();
switch (tag2 >>> 3) {
case 1:
key = reader.string();
break;
case 2:
value = reader.string();
break;
default:
reader.skipType(tag2 & 7, long);
break;
}
}
if (reader.pos !== end2)
throw RangeError("index out of range");
reader.len = end;
if (key === "__proto__")
$util.makeProp(message.secrets, key);
message.secrets[key] = value;
break;
}
default:
reader.skipType(tag & 7, long);
break;
}
}
if (length !== undefined) {
if (reader.pos !== end)
throw RangeError("index out of range");
reader.len = length;
}
return message;
};

ControllerListVolumeHealthRequest.fromObject = function fromObject(object, long) {
if (object instanceof $root.csi.v1.ControllerListVolumeHealthRequest)
return object;
if (!$util.isObject(object))
throw TypeError(".csi.v1.ControllerListVolumeHealthRequest: object expected");
if (long === undefined)
long = 0;
if (long > $util.recursionLimit)
throw Error("maximum nesting depth exceeded");
let message = new $root.csi.v1.ControllerListVolumeHealthRequest();
if (object.max_entries != null)
message.max_entries = object.max_entries | 0;
if (object.starting_token != null)
message.starting_token = String(object.starting_token);
if (object.secrets) {
if (!$util.isObject(object.secrets))
throw TypeError(".csi.v1.ControllerListVolumeHealthRequest.secrets: object expected");
message.secrets = {};
for (let keys = Object.keys(object.secrets), i = 0; i < keys.length; ++i) {
if (keys[i] === "__proto__")
$util.makeProp(message.secrets, keys[i]);
message.secrets[keys[i]] = String(object.secrets[keys[i]]);
}
}
return message;
};

ControllerListVolumeHealthRequest.toObject = function toObject(message, options, q) {
if (!options)
options = {};
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
let object = {};
if (options.objects || options.defaults)
object.secrets = {};
if (options.defaults) {
object.max_entries = 0;
object.starting_token = "";
}
if (message.max_entries != null && Object.hasOwnProperty.call(message, "max_entries"))
object.max_entries = message.max_entries;
if (message.starting_token != null && Object.hasOwnProperty.call(message, "starting_token"))
object.starting_token = message.starting_token;
let keys2;
if (message.secrets && (keys2 = Object.keys(message.secrets)).length) {
object.secrets = {};
for (let j = 0; j < keys2.length; ++j) {
if (keys2[j] === "__proto__")
$util.makeProp(object.secrets, keys2[j]);
object.secrets[keys2[j]] = message.secrets[keys2[j]];
}
}
return object;
};

ControllerListVolumeHealthRequest.prototype.toJSON = function toJSON() {
return this.constructor.toObject(this, $protobuf.util.toJSONOptions);
};

return ControllerListVolumeHealthRequest;
})();

v1.ControllerListVolumeHealthResponse = (function() {

function ControllerListVolumeHealthResponse(properties) {
this.entries = [];
if (properties)
for (let keys = Object.keys(properties), i = 0; i < keys.length; ++i)
if (properties[keys[i]] != null && keys[i] !== "__proto__")
this[keys[i]] = properties[keys[i]];
}

ControllerListVolumeHealthResponse.prototype.entries = $util.emptyArray;
ControllerListVolumeHealthResponse.prototype.next_token = "";

ControllerListVolumeHealthResponse.encode = function encode(message, writer, q) {
if (!writer)
writer = $Writer.create();
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
if (message.entries != null && message.entries.length)
for (let i = 0; i < message.entries.length; ++i)
$root.csi.v1.VolumeHealth.encode(message.entries[i], writer.uint32(10).fork(), q + 1).ldelim();
if (message.next_token != null && Object.hasOwnProperty.call(message, "next_token"))
writer.uint32(18).string(message.next_token);
return writer;
};

ControllerListVolumeHealthResponse.decode = function decode(reader, length, error, long) {
if (!(reader instanceof $Reader))
reader = $Reader.create(reader);
if (long === undefined)
long = 0;
if (long > $Reader.recursionLimit)
throw Error("maximum nesting depth exceeded");
let end, message;
if (length === undefined)
end = reader.len;
else {
end = reader.pos + length;
if (end > reader.len)
throw RangeError("index out of range");
length = reader.len;
reader.len = end;
}
message = new $root.csi.v1.ControllerListVolumeHealthResponse();
while (reader.pos < end) {
let tag = reader.uint32();
if (tag === error)
break;
switch (tag >>> 3) {
case 1: {
if (!(message.entries && message.entries.length))
message.entries = [];
message.entries.push($root.csi.v1.VolumeHealth.decode(reader, reader.uint32(), undefined, long + 1));
break;
}
case 2: {
message.next_token = reader.string();
break;
}
default:
reader.skipType(tag & 7, long);
break;
}
}
if (length !== undefined) {
if (reader.pos !== end)
throw RangeError("index out of range");
reader.len = length;
}
return message;
};

ControllerListVolumeHealthResponse.fromObject = function fromObject(object, long) {
if (object instanceof $root.csi.v1.ControllerListVolumeHealthResponse)
return object;
if (!$util.isObject(object))
throw TypeError(".csi.v1.ControllerListVolumeHealthResponse: object expected");
if (long === undefined)
long = 0;
if (long > $util.recursionLimit)
throw Error("maximum nesting depth exceeded");
let message = new $root.csi.v1.ControllerListVolumeHealthResponse();
if (object.entries) {
if (!Array.isArray(object.entries))
throw TypeError(".csi.v1.ControllerListVolumeHealthResponse.entries: array expected");
message.entries = [];
for (let i = 0; i < object.entries.length; ++i) {
if (!$util.isObject(object.entries[i]))
throw TypeError(".csi.v1.ControllerListVolumeHealthResponse.entries: object expected");
message.entries[i] = $root.csi.v1.VolumeHealth.fromObject(object.entries[i], long + 1);
}
}
if (object.next_token != null)
message.next_token = String(object.next_token);
return message;
};

ControllerListVolumeHealthResponse.toObject = function toObject(message, options, q) {
if (!options)
options = {};
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
let object = {};
if (options.arrays || options.defaults)
object.entries = [];
if (options.defaults)
object.next_token = "";
if (message.entries && message.entries.length) {
object.entries = [];
for (let j = 0; j < message.entries.length; ++j)
object.entries[j] = $root.csi.v1.VolumeHealth.toObject(message.entries[j], options, q + 1);
}
if (message.next_token != null && Object.hasOwnProperty.call(message, "next_token"))
object.next_token = message.next_token;
return object;
};

ControllerListVolumeHealthResponse.prototype.toJSON = function toJSON() {
return this.constructor.toObject(this, $protobuf.util.toJSONOptions);
};

return ControllerListVolumeHealthResponse;
})();

v1.VolumeHealthErrorType = (function() {
const valuesById = {}, values = Object.create(valuesById);
values[valuesById[0] = "UNKNOWN_VOLUME_HEALTH_TYPE"] = 0;
values[valuesById[1] = "DEGRADED"] = 1;
values[valuesById[2] = "INACCESSIBLE"] = 2;
values[valuesById[3] = "DATA_LOSS"] = 3;
return values;
})();

v1.VolumeHealth = (function() {

function VolumeHealth(properties) {
this.health_statuses = [];
if (properties)
for (let keys = Object.keys(properties), i = 0; i < keys.length; ++i)
if (properties[keys[i]] != null && keys[i] !== "__proto__")
this[keys[i]] = properties[keys[i]];
}

VolumeHealth.prototype.volume_id = "";
VolumeHealth.prototype.health_statuses = $util.emptyArray;

VolumeHealth.encode = function encode(message, writer, q) {
if (!writer)
writer = $Writer.create();
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
if (message.volume_id != null && Object.hasOwnProperty.call(message, "volume_id"))
writer.uint32(10).string(message.volume_id);
if (message.health_statuses != null && message.health_statuses.length)
for (let i = 0; i < message.health_statuses.length; ++i)
$root.csi.v1.VolumeHealth.VolumeHealthEntry.encode(message.health_statuses[i], writer.uint32(18).fork(), q + 1).ldelim();
return writer;
};

VolumeHealth.decode = function decode(reader, length, error, long) {
if (!(reader instanceof $Reader))
reader = $Reader.create(reader);
if (long === undefined)
long = 0;
if (long > $Reader.recursionLimit)
throw Error("maximum nesting depth exceeded");
let end, message;
if (length === undefined)
end = reader.len;
else {
end = reader.pos + length;
if (end > reader.len)
throw RangeError("index out of range");
length = reader.len;
reader.len = end;
}
message = new $root.csi.v1.VolumeHealth();
while (reader.pos < end) {
let tag = reader.uint32();
if (tag === error)
break;
switch (tag >>> 3) {
case 1: {
message.volume_id = reader.string();
break;
}
case 2: {
if (!(message.health_statuses && message.health_statuses.length))
message.health_statuses = [];
message.health_statuses.push($root.csi.v1.VolumeHealth.VolumeHealthEntry.decode(reader, reader.uint32(), undefined, long + 1));
break;
}
default:
reader.skipType(tag & 7, long);
break;
}
}
if (length !== undefined) {
if (reader.pos !== end)
throw RangeError("index out of range");
reader.len = length;
}
return message;
};

VolumeHealth.fromObject = function fromObject(object, long) {
if (object instanceof $root.csi.v1.VolumeHealth)
return object;
if (!$util.isObject(object))
throw TypeError(".csi.v1.VolumeHealth: object expected");
if (long === undefined)
long = 0;
if (long > $util.recursionLimit)
throw Error("maximum nesting depth exceeded");
let message = new $root.csi.v1.VolumeHealth();
if (object.volume_id != null)
message.volume_id = String(object.volume_id);
if (object.health_statuses) {
if (!Array.isArray(object.health_statuses))
throw TypeError(".csi.v1.VolumeHealth.health_statuses: array expected");
message.health_statuses = [];
for (let i = 0; i < object.health_statuses.length; ++i) {
if (!$util.isObject(object.health_statuses[i]))
throw TypeError(".csi.v1.VolumeHealth.health_statuses: object expected");
message.health_statuses[i] = $root.csi.v1.VolumeHealth.VolumeHealthEntry.fromObject(object.health_statuses[i], long + 1);
}
}
return message;
};

VolumeHealth.toObject = function toObject(message, options, q) {
if (!options)
options = {};
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
let object = {};
if (options.arrays || options.defaults)
object.health_statuses = [];
if (options.defaults)
object.volume_id = "";
if (message.volume_id != null && Object.hasOwnProperty.call(message, "volume_id"))
object.volume_id = message.volume_id;
if (message.health_statuses && message.health_statuses.length) {
object.health_statuses = [];
for (let j = 0; j < message.health_statuses.length; ++j)
object.health_statuses[j] = $root.csi.v1.VolumeHealth.VolumeHealthEntry.toObject(message.health_statuses[j], options, q + 1);
}
return object;
};

VolumeHealth.prototype.toJSON = function toJSON() {
return this.constructor.toObject(this, $protobuf.util.toJSONOptions);
};

VolumeHealth.VolumeHealthEntry = (function() {

function VolumeHealthEntry(properties) {
if (properties)
for (let keys = Object.keys(properties), i = 0; i < keys.length; ++i)
if (properties[keys[i]] != null && keys[i] !== "__proto__")
this[keys[i]] = properties[keys[i]];
}

VolumeHealthEntry.prototype.status = 0;
VolumeHealthEntry.prototype.reason = "";
VolumeHealthEntry.prototype.message = "";

VolumeHealthEntry.encode = function encode(message, writer, q) {
if (!writer)
writer = $Writer.create();
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
if (message.status != null && Object.hasOwnProperty.call(message, "status"))
writer.uint32(8).int32(message.status);
if (message.reason != null && Object.hasOwnProperty.call(message, "reason"))
writer.uint32(18).string(message.reason);
if (message.message != null && Object.hasOwnProperty.call(message, "message"))
writer.uint32(26).string(message.message);
return writer;
};

VolumeHealthEntry.decode = function decode(reader, length, error, long) {
if (!(reader instanceof $Reader))
reader = $Reader.create(reader);
if (long === undefined)
long = 0;
if (long > $Reader.recursionLimit)
throw Error("maximum nesting depth exceeded");
let end, message;
if (length === undefined)
end = reader.len;
else {
end = reader.pos + length;
if (end > reader.len)
throw RangeError("index out of range");
length = reader.len;
reader.len = end;
}
message = new $root.csi.v1.VolumeHealth.VolumeHealthEntry();
while (reader.pos < end) {
let tag = reader.uint32();
if (tag === error)
break;
switch (tag >>> 3) {
case 1: {
message.status = reader.int32();
break;
}
case 2: {
message.reason = reader.string();
break;
}
case 3: {
message.message = reader.string();
break;
}
default:
reader.skipType(tag & 7, long);
break;
}
}
if (length !== undefined) {
if (reader.pos !== end)
throw RangeError("index out of range");
reader.len = length;
}
return message;
};

VolumeHealthEntry.fromObject = function fromObject(object, long) {
if (object instanceof $root.csi.v1.VolumeHealth.VolumeHealthEntry)
return object;
if (!$util.isObject(object))
throw TypeError(".csi.v1.VolumeHealth.VolumeHealthEntry: object expected");
if (long === undefined)
long = 0;
if (long > $util.recursionLimit)
throw Error("maximum nesting depth exceeded");
let message = new $root.csi.v1.VolumeHealth.VolumeHealthEntry();
switch (object.status) {
default:
if (typeof object.status === "number") {
message.status = object.status;
break;
}
break;
case "UNKNOWN_VOLUME_HEALTH_TYPE":
case 0:
message.status = 0;
break;
case "DEGRADED":
case 1:
message.status = 1;
break;
case "INACCESSIBLE":
case 2:
message.status = 2;
break;
case "DATA_LOSS":
case 3:
message.status = 3;
break;
}
if (object.reason != null)
message.reason = String(object.reason);
if (object.message != null)
message.message = String(object.message);
return message;
};

VolumeHealthEntry.toObject = function toObject(message, options, q) {
if (!options)
options = {};
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
let object = {};
if (options.defaults) {
object.status = options.enums === String ? "UNKNOWN_VOLUME_HEALTH_TYPE" : 0;
object.reason = "";
object.message = "";
}
if (message.status != null && Object.hasOwnProperty.call(message, "status"))
object.status = options.enums === String ? $root.csi.v1.VolumeHealthErrorType[message.status] === undefined ? message.status : $root.csi.v1.VolumeHealthErrorType[message.status] : message.status;
if (message.reason != null && Object.hasOwnProperty.call(message, "reason"))
object.reason = message.reason;
if (message.message != null && Object.hasOwnProperty.call(message, "message"))
object.message = message.message;
return object;
};

VolumeHealthEntry.prototype.toJSON = function toJSON() {
return this.constructor.toObject(this, $protobuf.util.toJSONOptions);
};

return VolumeHealthEntry;
})();

return VolumeHealth;
})();

v1.ControllerGetVolumeHealthRequest = (function() {

function ControllerGetVolumeHealthRequest(properties) {
this.secrets = {};
if (properties)
for (let keys = Object.keys(properties), i = 0; i < keys.length; ++i)
if (properties[keys[i]] != null && keys[i] !== "__proto__")
this[keys[i]] = properties[keys[i]];
}

ControllerGetVolumeHealthRequest.prototype.volume_id = "";
ControllerGetVolumeHealthRequest.prototype.secrets = $util.emptyObject;

ControllerGetVolumeHealthRequest.encode = function encode(message, writer, q) {
if (!writer)
writer = $Writer.create();
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
if (message.volume_id != null && Object.hasOwnProperty.call(message, "volume_id"))
writer.uint32(10).string(message.volume_id);
if (message.secrets != null && Object.hasOwnProperty.call(message, "secrets"))
for (let keys = Object.keys(message.secrets), i = 0; i < keys.length; ++i)
writer.uint32(18).fork().uint32(10).string(keys[i]).uint32(18).string(message.secrets[keys[i]]).ldelim();
return writer;
};

ControllerGetVolumeHealthRequest.decode = function decode(reader, length, error, long) {
if (!(reader instanceof $Reader))
reader = $Reader.create(reader);
if (long === undefined)
long = 0;
if (long > $Reader.recursionLimit)
throw Error("maximum nesting depth exceeded");
let end, message, key, value;
if (length === undefined)
end = reader.len;
else {
end = reader.pos + length;
if (end > reader.len)
throw RangeError("index out of range");
length = reader.len;
reader.len = end;
}
message = new $root.csi.v1.ControllerGetVolumeHealthRequest();
while (reader.pos < end) {
let tag = reader.uint32();
if (tag === error)
break;
switch (tag >>> 3) {
case 1: {
message.volume_id = reader.string();
break;
}
case 2: {
if (message.secrets === $util.emptyObject)
message.secrets = {};
let end2 = reader.uint32() + reader.pos;
if (end2 > reader.len)
throw RangeError("index out of range");
reader.len = end2;
key = "";
value = "";
while (reader.pos < end2) {
let tag2 = reader.uint32();
switch (tag2 >>> 3) {
case 1:
key = reader.string();
break;
case 2:
value = reader.string();
break;
default:
reader.skipType(tag2 & 7, long);
break;
}
}
if (reader.pos !== end2)
throw RangeError("index out of range");
reader.len = end;
if (key === "__proto__")
$util.makeProp(message.secrets, key);
message.secrets[key] = value;
break;
}
default:
reader.skipType(tag & 7, long);
break;
}
}
if (length !== undefined) {
if (reader.pos !== end)
throw RangeError("index out of range");
reader.len = length;
}
return message;
};

ControllerGetVolumeHealthRequest.fromObject = function fromObject(object, long) {
if (object instanceof $root.csi.v1.ControllerGetVolumeHealthRequest)
return object;
if (!$util.isObject(object))
throw TypeError(".csi.v1.ControllerGetVolumeHealthRequest: object expected");
if (long === undefined)
long = 0;
if (long > $util.recursionLimit)
throw Error("maximum nesting depth exceeded");
let message = new $root.csi.v1.ControllerGetVolumeHealthRequest();
if (object.volume_id != null)
message.volume_id = String(object.volume_id);
if (object.secrets) {
if (!$util.isObject(object.secrets))
throw TypeError(".csi.v1.ControllerGetVolumeHealthRequest.secrets: object expected");
message.secrets = {};
for (let keys = Object.keys(object.secrets), i = 0; i < keys.length; ++i) {
if (keys[i] === "__proto__")
$util.makeProp(message.secrets, keys[i]);
message.secrets[keys[i]] = String(object.secrets[keys[i]]);
}
}
return message;
};

ControllerGetVolumeHealthRequest.toObject = function toObject(message, options, q) {
if (!options)
options = {};
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
let object = {};
if (options.objects || options.defaults)
object.secrets = {};
if (options.defaults)
object.volume_id = "";
if (message.volume_id != null && Object.hasOwnProperty.call(message, "volume_id"))
object.volume_id = message.volume_id;
let keys2;
if (message.secrets && (keys2 = Object.keys(message.secrets)).length) {
object.secrets = {};
for (let j = 0; j < keys2.length; ++j) {
if (keys2[j] === "__proto__")
$util.makeProp(object.secrets, keys2[j]);
object.secrets[keys2[j]] = message.secrets[keys2[j]];
}
}
return object;
};

ControllerGetVolumeHealthRequest.prototype.toJSON = function toJSON() {
return this.constructor.toObject(this, $protobuf.util.toJSONOptions);
};

return ControllerGetVolumeHealthRequest;
})();

v1.ControllerGetVolumeHealthResponse = (function() {

function ControllerGetVolumeHealthResponse(properties) {
if (properties)
for (let keys = Object.keys(properties), i = 0; i < keys.length; ++i)
if (properties[keys[i]] != null && keys[i] !== "__proto__")
this[keys[i]] = properties[keys[i]];
}

ControllerGetVolumeHealthResponse.prototype.volume_health = null;

ControllerGetVolumeHealthResponse.encode = function encode(message, writer, q) {
if (!writer)
writer = $Writer.create();
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
if (message.volume_health != null && Object.hasOwnProperty.call(message, "volume_health"))
$root.csi.v1.VolumeHealth.encode(message.volume_health, writer.uint32(10).fork(), q + 1).ldelim();
return writer;
};

ControllerGetVolumeHealthResponse.decode = function decode(reader, length, error, long) {
if (!(reader instanceof $Reader))
reader = $Reader.create(reader);
if (long === undefined)
long = 0;
if (long > $Reader.recursionLimit)
throw Error("maximum nesting depth exceeded");
let end, message;
if (length === undefined)
end = reader.len;
else {
end = reader.pos + length;
if (end > reader.len)
throw RangeError("index out of range");
length = reader.len;
reader.len = end;
}
message = new $root.csi.v1.ControllerGetVolumeHealthResponse();
while (reader.pos < end) {
let tag = reader.uint32();
if (tag === error)
break;
switch (tag >>> 3) {
case 1: {
message.volume_health = $root.csi.v1.VolumeHealth.decode(reader, reader.uint32(), undefined, long + 1);
break;
}
default:
reader.skipType(tag & 7, long);
break;
}
}
if (length !== undefined) {
if (reader.pos !== end)
throw RangeError("index out of range");
reader.len = length;
}
return message;
};

ControllerGetVolumeHealthResponse.fromObject = function fromObject(object, long) {
if (object instanceof $root.csi.v1.ControllerGetVolumeHealthResponse)
return object;
if (!$util.isObject(object))
throw TypeError(".csi.v1.ControllerGetVolumeHealthResponse: object expected");
if (long === undefined)
long = 0;
if (long > $util.recursionLimit)
throw Error("maximum nesting depth exceeded");
let message = new $root.csi.v1.ControllerGetVolumeHealthResponse();
if (object.volume_health != null) {
if (!$util.isObject(object.volume_health))
throw TypeError(".csi.v1.ControllerGetVolumeHealthResponse.volume_health: object expected");
message.volume_health = $root.csi.v1.VolumeHealth.fromObject(object.volume_health, long + 1);
}
return message;
};

ControllerGetVolumeHealthResponse.toObject = function toObject(message, options, q) {
if (!options)
options = {};
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
let object = {};
if (options.defaults)
object.volume_health = null;
if (message.volume_health != null && Object.hasOwnProperty.call(message, "volume_health"))
object.volume_health = $root.csi.v1.VolumeHealth.toObject(message.volume_health, options, q + 1);
return object;
};

ControllerGetVolumeHealthResponse.prototype.toJSON = function toJSON() {
return this.constructor.toObject(this, $protobuf.util.toJSONOptions);
};

return ControllerGetVolumeHealthResponse;
})();

v1.ControllerGetVolumeRequest = (function() {

function ControllerGetVolumeRequest(properties) {
if (properties)
for (let keys = Object.keys(properties), i = 0; i < keys.length; ++i)
if (properties[keys[i]] != null && keys[i] !== "__proto__")
this[keys[i]] = properties[keys[i]];
}

ControllerGetVolumeRequest.prototype.volume_id = "";

ControllerGetVolumeRequest.encode = function encode(message, writer, q) {
if (!writer)
writer = $Writer.create();
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
if (message.volume_id != null && Object.hasOwnProperty.call(message, "volume_id"))
writer.uint32(10).string(message.volume_id);
return writer;
};

ControllerGetVolumeRequest.decode = function decode(reader, length, error, long) {
if (!(reader instanceof $Reader))
reader = $Reader.create(reader);
if (long === undefined)
long = 0;
if (long > $Reader.recursionLimit)
throw Error("maximum nesting depth exceeded");
let end, message;
if (length === undefined)
end = reader.len;
else {
end = reader.pos + length;
if (end > reader.len)
throw RangeError("index out of range");
length = reader.len;
reader.len = end;
}
message = new $root.csi.v1.ControllerGetVolumeRequest();
while (reader.pos < end) {
let tag = reader.uint32();
if (tag === error)
break;
switch (tag >>> 3) {
case 1: {
message.volume_id = reader.string();
break;
}
default:
reader.skipType(tag & 7, long);
break;
}
}
if (length !== undefined) {
if (reader.pos !== end)
throw RangeError("index out of range");
reader.len = length;
}
return message;
};

ControllerGetVolumeRequest.fromObject = function fromObject(object, long) {
if (object instanceof $root.csi.v1.ControllerGetVolumeRequest)
return object;
if (!$util.isObject(object))
throw TypeError(".csi.v1.ControllerGetVolumeRequest: object expected");
if (long === undefined)
long = 0;
if (long > $util.recursionLimit)
throw Error("maximum nesting depth exceeded");
let message = new $root.csi.v1.ControllerGetVolumeRequest();
if (object.volume_id != null)
message.volume_id = String(object.volume_id);
return message;
};

ControllerGetVolumeRequest.toObject = function toObject(message, options, q) {
if (!options)
options = {};
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
let object = {};
if (options.defaults)
object.volume_id = "";
if (message.volume_id != null && Object.hasOwnProperty.call(message, "volume_id"))
object.volume_id = message.volume_id;
return object;
};

ControllerGetVolumeRequest.prototype.toJSON = function toJSON() {
return this.constructor.toObject(this, $protobuf.util.toJSONOptions);
};

return ControllerGetVolumeRequest;
})();

v1.ControllerGetVolumeResponse = (function() {

function ControllerGetVolumeResponse(properties) {
if (properties)
for (let keys = Object.keys(properties), i = 0; i < keys.length; ++i)
if (properties[keys[i]] != null && keys[i] !== "__proto__")
this[keys[i]] = properties[keys[i]];
}

ControllerGetVolumeResponse.prototype.volume = null;
ControllerGetVolumeResponse.prototype.status = null;

ControllerGetVolumeResponse.encode = function encode(message, writer, q) {
if (!writer)
writer = $Writer.create();
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
if (message.volume != null && Object.hasOwnProperty.call(message, "volume"))
$root.csi.v1.Volume.encode(message.volume, writer.uint32(10).fork(), q + 1).ldelim();
if (message.status != null && Object.hasOwnProperty.call(message, "status"))
$root.csi.v1.ControllerGetVolumeResponse.VolumeStatus.encode(message.status, writer.uint32(18).fork(), q + 1).ldelim();
return writer;
};

ControllerGetVolumeResponse.decode = function decode(reader, length, error, long) {
if (!(reader instanceof $Reader))
reader = $Reader.create(reader);
if (long === undefined)
long = 0;
if (long > $Reader.recursionLimit)
throw Error("maximum nesting depth exceeded");
let end, message;
if (length === undefined)
end = reader.len;
else {
end = reader.pos + length;
if (end > reader.len)
throw RangeError("index out of range");
length = reader.len;
reader.len = end;
}
message = new $root.csi.v1.ControllerGetVolumeResponse();
while (reader.pos < end) {
let tag = reader.uint32();
if (tag === error)
break;
switch (tag >>> 3) {
case 1: {
message.volume = $root.csi.v1.Volume.decode(reader, reader.uint32(), undefined, long + 1);
break;
}
case 2: {
message.status = $root.csi.v1.ControllerGetVolumeResponse.VolumeStatus.decode(reader, reader.uint32(), undefined, long + 1);
break;
}
default:
reader.skipType(tag & 7, long);
break;
}
}
if (length !== undefined) {
if (reader.pos !== end)
throw RangeError("index out of range");
reader.len = length;
}
return message;
};

ControllerGetVolumeResponse.fromObject = function fromObject(object, long) {
if (object instanceof $root.csi.v1.ControllerGetVolumeResponse)
return object;
if (!$util.isObject(object))
throw TypeError(".csi.v1.ControllerGetVolumeResponse: object expected");
if (long === undefined)
long = 0;
if (long > $util.recursionLimit)
throw Error("maximum nesting depth exceeded");
let message = new $root.csi.v1.ControllerGetVolumeResponse();
if (object.volume != null) {
if (!$util.isObject(object.volume))
throw TypeError(".csi.v1.ControllerGetVolumeResponse.volume: object expected");
message.volume = $root.csi.v1.Volume.fromObject(object.volume, long + 1);
}
if (object.status != null) {
if (!$util.isObject(object.status))
throw TypeError(".csi.v1.ControllerGetVolumeResponse.status: object expected");
message.status = $root.csi.v1.ControllerGetVolumeResponse.VolumeStatus.fromObject(object.status, long + 1);
}
return message;
};

ControllerGetVolumeResponse.toObject = function toObject(message, options, q) {
if (!options)
options = {};
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
let object = {};
if (options.defaults) {
object.volume = null;
object.status = null;
}
if (message.volume != null && Object.hasOwnProperty.call(message, "volume"))
object.volume = $root.csi.v1.Volume.toObject(message.volume, options, q + 1);
if (message.status != null && Object.hasOwnProperty.call(message, "status"))
object.status = $root.csi.v1.ControllerGetVolumeResponse.VolumeStatus.toObject(message.status, options, q + 1);
return object;
};

ControllerGetVolumeResponse.prototype.toJSON = function toJSON() {
return this.constructor.toObject(this, $protobuf.util.toJSONOptions);
};

ControllerGetVolumeResponse.VolumeStatus = (function() {

function VolumeStatus(properties) {
this.published_node_ids = [];
if (properties)
for (let keys = Object.keys(properties), i = 0; i < keys.length; ++i)
if (properties[keys[i]] != null && keys[i] !== "__proto__")
this[keys[i]] = properties[keys[i]];
}

VolumeStatus.prototype.published_node_ids = $util.emptyArray;

VolumeStatus.encode = function encode(message, writer, q) {
if (!writer)
writer = $Writer.create();
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
if (message.published_node_ids != null && message.published_node_ids.length)
for (let i = 0; i < message.published_node_ids.length; ++i)
writer.uint32(10).string(message.published_node_ids[i]);
return writer;
};

VolumeStatus.decode = function decode(reader, length, error, long) {
if (!(reader instanceof $Reader))
reader = $Reader.create(reader);
if (long === undefined)
long = 0;
if (long > $Reader.recursionLimit)
throw Error("maximum nesting depth exceeded");
let end, message;
if (length === undefined)
end = reader.len;
else {
end = reader.pos + length;
if (end > reader.len)
throw RangeError("index out of range");
length = reader.len;
reader.len = end;
}
message = new $root.csi.v1.ControllerGetVolumeResponse.VolumeStatus();
while (reader.pos < end) {
let tag = reader.uint32();
if (tag === error)
break;
switch (tag >>> 3) {
case 1: {
if (!(message.published_node_ids && message.published_node_ids.length))
message.published_node_ids = [];
message.published_node_ids.push(reader.string());
break;
}
default:
reader.skipType(tag & 7, long);
break;
}
}
if (length !== undefined) {
if (reader.pos !== end)
throw RangeError("index out of range");
reader.len = length;
}
return message;
};

VolumeStatus.fromObject = function fromObject(object, long) {
if (object instanceof $root.csi.v1.ControllerGetVolumeResponse.VolumeStatus)
return object;
if (!$util.isObject(object))
throw TypeError(".csi.v1.ControllerGetVolumeResponse.VolumeStatus: object expected");
if (long === undefined)
long = 0;
if (long > $util.recursionLimit)
throw Error("maximum nesting depth exceeded");
let message = new $root.csi.v1.ControllerGetVolumeResponse.VolumeStatus();
if (object.published_node_ids) {
if (!Array.isArray(object.published_node_ids))
throw TypeError(".csi.v1.ControllerGetVolumeResponse.VolumeStatus.published_node_ids: array expected");
message.published_node_ids = [];
for (let i = 0; i < object.published_node_ids.length; ++i)
message.published_node_ids[i] = String(object.published_node_ids[i]);
}
return message;
};

VolumeStatus.toObject = function toObject(message, options, q) {
if (!options)
options = {};
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
let object = {};
if (options.arrays || options.defaults)
object.published_node_ids = [];
if (message.published_node_ids && message.published_node_ids.length) {
object.published_node_ids = [];
for (let j = 0; j < message.published_node_ids.length; ++j)
object.published_node_ids[j] = message.published_node_ids[j];
}
return object;
};

VolumeStatus.prototype.toJSON = function toJSON() {
return this.constructor.toObject(this, $protobuf.util.toJSONOptions);
};

return VolumeStatus;
})();

return ControllerGetVolumeResponse;
})();

v1.ControllerModifyVolumeRequest = (function() {

function ControllerModifyVolumeRequest(properties) {
this.secrets = {};
this.mutable_parameters = {};
if (properties)
for (let keys = Object.keys(properties), i = 0; i < keys.length; ++i)
if (properties[keys[i]] != null && keys[i] !== "__proto__")
this[keys[i]] = properties[keys[i]];
}

ControllerModifyVolumeRequest.prototype.volume_id = "";
ControllerModifyVolumeRequest.prototype.secrets = $util.emptyObject;
ControllerModifyVolumeRequest.prototype.mutable_parameters = $util.emptyObject;

ControllerModifyVolumeRequest.encode = function encode(message, writer, q) {
if (!writer)
writer = $Writer.create();
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
if (message.volume_id != null && Object.hasOwnProperty.call(message, "volume_id"))
writer.uint32(10).string(message.volume_id);
if (message.secrets != null && Object.hasOwnProperty.call(message, "secrets"))
for (let keys = Object.keys(message.secrets), i = 0; i < keys.length; ++i)
writer.uint32(18).fork().uint32(10).string(keys[i]).uint32(18).string(message.secrets[keys[i]]).ldelim();
if (message.mutable_parameters != null && Object.hasOwnProperty.call(message, "mutable_parameters"))
for (let keys = Object.keys(message.mutable_parameters), i = 0; i < keys.length; ++i)
writer.uint32(26).fork().uint32(10).string(keys[i]).uint32(18).string(message.mutable_parameters[keys[i]]).ldelim();
return writer;
};

ControllerModifyVolumeRequest.decode = function decode(reader, length, error, long) {
if (!(reader instanceof $Reader))
reader = $Reader.create(reader);
if (long === undefined)
long = 0;
if (long > $Reader.recursionLimit)
throw Error("maximum nesting depth exceeded");
let end, message, key, value;
if (length === undefined)
end = reader.len;
else {
end = reader.pos + length;
if (end > reader.len)
throw RangeError("index out of range");
length = reader.len;
reader.len = end;
}
message = new $root.csi.v1.ControllerModifyVolumeRequest();
while (reader.pos < end) {
let tag = reader.uint32();
if (tag === error)
break;
switch (tag >>> 3) {
case 1: {
message.volume_id = reader.string();
break;
}
case 2: {
if (message.secrets === $util.emptyObject)
message.secrets = {};
let end2 = reader.uint32() + reader.pos;
if (end2 > reader.len)
throw RangeError("index out of range");
reader.len = end2;
key = "";
value = "";
while (reader.pos < end2) {
let tag2 = reader.uint32();
switch (tag2 >>> 3) {
case 1:
key = reader.string();
break;
case 2:
value = reader.string();
break;
default:
reader.skipType(tag2 & 7, long);
break;
}
}
if (reader.pos !== end2)
throw RangeError("index out of range");
reader.len = end;
if (key === "__proto__")
$util.makeProp(message.secrets, key);
message.secrets[key] = value;
break;
}
case 3: {
if (message.mutable_parameters === $util.emptyObject)
message.mutable_parameters = {};
let end2 = reader.uint32() + reader.pos;
if (end2 > reader.len)
throw RangeError("index out of range");
reader.len = end2;
key = "";
value = "";
while (reader.pos < end2) {
let tag2 = reader.uint32();
switch (tag2 >>> 3) {
case 1:
key = reader.string();
break;
case 2:
value = reader.string();
break;
default:
reader.skipType(tag2 & 7, long);
break;
}
}
if (reader.pos !== end2)
throw RangeError("index out of range");
reader.len = end;
if (key === "__proto__")
$util.makeProp(message.mutable_parameters, key);
message.mutable_parameters[key] = value;
break;
}
default:
reader.skipType(tag & 7, long);
break;
}
}
if (length !== undefined) {
if (reader.pos !== end)
throw RangeError("index out of range");
reader.len = length;
}
return message;
};

ControllerModifyVolumeRequest.fromObject = function fromObject(object, long) {
if (object instanceof $root.csi.v1.ControllerModifyVolumeRequest)
return object;
if (!$util.isObject(object))
throw TypeError(".csi.v1.ControllerModifyVolumeRequest: object expected");
if (long === undefined)
long = 0;
if (long > $util.recursionLimit)
throw Error("maximum nesting depth exceeded");
let message = new $root.csi.v1.ControllerModifyVolumeRequest();
if (object.volume_id != null)
message.volume_id = String(object.volume_id);
if (object.secrets) {
if (!$util.isObject(object.secrets))
throw TypeError(".csi.v1.ControllerModifyVolumeRequest.secrets: object expected");
message.secrets = {};
for (let keys = Object.keys(object.secrets), i = 0; i < keys.length; ++i) {
if (keys[i] === "__proto__")
$util.makeProp(message.secrets, keys[i]);
message.secrets[keys[i]] = String(object.secrets[keys[i]]);
}
}
if (object.mutable_parameters) {
if (!$util.isObject(object.mutable_parameters))
throw TypeError(".csi.v1.ControllerModifyVolumeRequest.mutable_parameters: object expected");
message.mutable_parameters = {};
for (let keys = Object.keys(object.mutable_parameters), i = 0; i < keys.length; ++i) {
if (keys[i] === "__proto__")
$util.makeProp(message.mutable_parameters, keys[i]);
message.mutable_parameters[keys[i]] = String(object.mutable_parameters[keys[i]]);
}
}
return message;
};

ControllerModifyVolumeRequest.toObject = function toObject(message, options, q) {
if (!options)
options = {};
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
let object = {};
if (options.objects || options.defaults) {
object.secrets = {};
object.mutable_parameters = {};
}
if (options.defaults)
object.volume_id = "";
if (message.volume_id != null && Object.hasOwnProperty.call(message, "volume_id"))
object.volume_id = message.volume_id;
let keys2;
if (message.secrets && (keys2 = Object.keys(message.secrets)).length) {
object.secrets = {};
for (let j = 0; j < keys2.length; ++j) {
if (keys2[j] === "__proto__")
$util.makeProp(object.secrets, keys2[j]);
object.secrets[keys2[j]] = message.secrets[keys2[j]];
}
}
if (message.mutable_parameters && (keys2 = Object.keys(message.mutable_parameters)).length) {
object.mutable_parameters = {};
for (let j = 0; j < keys2.length; ++j) {
if (keys2[j] === "__proto__")
$util.makeProp(object.mutable_parameters, keys2[j]);
object.mutable_parameters[keys2[j]] = message.mutable_parameters[keys2[j]];
}
}
return object;
};

ControllerModifyVolumeRequest.prototype.toJSON = function toJSON() {
return this.constructor.toObject(this, $protobuf.util.toJSONOptions);
};

return ControllerModifyVolumeRequest;
})();

v1.ControllerModifyVolumeResponse = (function() {

function ControllerModifyVolumeResponse(properties) {
if (properties)
for (let keys = Object.keys(properties), i = 0; i < keys.length; ++i)
if (properties[keys[i]] != null && keys[i] !== "__proto__")
this[keys[i]] = properties[keys[i]];
}

ControllerModifyVolumeResponse.encode = function encode(message, writer, q) {
if (!writer)
writer = $Writer.create();
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
return writer;
};

ControllerModifyVolumeResponse.decode = function decode(reader, length, error, long) {
if (!(reader instanceof $Reader))
reader = $Reader.create(reader);
if (long === undefined)
long = 0;
if (long > $Reader.recursionLimit)
throw Error("maximum nesting depth exceeded");
let end, message;
if (length === undefined)
end = reader.len;
else {
end = reader.pos + length;
if (end > reader.len)
throw RangeError("index out of range");
length = reader.len;
reader.len = end;
}
message = new $root.csi.v1.ControllerModifyVolumeResponse();
while (reader.pos < end) {
let tag = reader.uint32();
if (tag === error)
break;
switch (tag >>> 3) {
default:
reader.skipType(tag & 7, long);
break;
}
}
if (length !== undefined) {
if (reader.pos !== end)
throw RangeError("index out of range");
reader.len = length;
}
return message;
};

ControllerModifyVolumeResponse.fromObject = function fromObject(object, long) {
if (object instanceof $root.csi.v1.ControllerModifyVolumeResponse)
return object;
return new $root.csi.v1.ControllerModifyVolumeResponse();
};

ControllerModifyVolumeResponse.toObject = function toObject() {
return {};
};

ControllerModifyVolumeResponse.prototype.toJSON = function toJSON() {
return this.constructor.toObject(this, $protobuf.util.toJSONOptions);
};

return ControllerModifyVolumeResponse;
})();

v1.GetCapacityRequest = (function() {

function GetCapacityRequest(properties) {
this.volume_capabilities = [];
this.parameters = {};
if (properties)
for (let keys = Object.keys(properties), i = 0; i < keys.length; ++i)
if (properties[keys[i]] != null && keys[i] !== "__proto__")
this[keys[i]] = properties[keys[i]];
}

GetCapacityRequest.prototype.volume_capabilities = $util.emptyArray;
GetCapacityRequest.prototype.parameters = $util.emptyObject;
GetCapacityRequest.prototype.accessible_topology = null;

GetCapacityRequest.encode = function encode(message, writer, q) {
if (!writer)
writer = $Writer.create();
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
if (message.volume_capabilities != null && message.volume_capabilities.length)
for (let i = 0; i < message.volume_capabilities.length; ++i)
$root.csi.v1.VolumeCapability.encode(message.volume_capabilities[i], writer.uint32(10).fork(), q + 1).ldelim();
if (message.parameters != null && Object.hasOwnProperty.call(message, "parameters"))
for (let keys = Object.keys(message.parameters), i = 0; i < keys.length; ++i)
writer.uint32(18).fork().uint32(10).string(keys[i]).uint32(18).string(message.parameters[keys[i]]).ldelim();
if (message.accessible_topology != null && Object.hasOwnProperty.call(message, "accessible_topology"))
$root.csi.v1.Topology.encode(message.accessible_topology, writer.uint32(26).fork(), q + 1).ldelim();
return writer;
};

GetCapacityRequest.decode = function decode(reader, length, error, long) {
if (!(reader instanceof $Reader))
reader = $Reader.create(reader);
if (long === undefined)
long = 0;
if (long > $Reader.recursionLimit)
throw Error("maximum nesting depth exceeded");
let end, message, key, value;
if (length === undefined)
end = reader.len;
else {
end = reader.pos + length;
if (end > reader.len)
throw RangeError("index out of range");
length = reader.len;
reader.len = end;
}
message = new $root.csi.v1.GetCapacityRequest();
while (reader.pos < end) {
let tag = reader.uint32();
if (tag === error)
break;
switch (tag >>> 3) {
case 1: {
if (!(message.volume_capabilities && message.volume_capabilities.length))
message.volume_capabilities = [];
message.volume_capabilities.push($root.csi.v1.VolumeCapability.decode(reader, reader.uint32(), undefined, long + 1));
break;
}
case 2: {
if (message.parameters === $util.emptyObject)
message.parameters = {};
let end2 = reader.uint32() + reader.pos;
if (end2 > reader.len)
throw RangeError("index out of range");
reader.len = end2;
key = "";
value = "";
while (reader.pos < end2) {
let tag2 = reader.uint32();
switch (tag2 >>> 3) {
case 1:
key = reader.string();
break;
case 2:
value = reader.string();
break;
default:
reader.skipType(tag2 & 7, long);
break;
}
}
if (reader.pos !== end2)
throw RangeError("index out of range");
reader.len = end;
if (key === "__proto__")
$util.makeProp(message.parameters, key);
message.parameters[key] = value;
break;
}
case 3: {
message.accessible_topology = $root.csi.v1.Topology.decode(reader, reader.uint32(), undefined, long + 1);
break;
}
default:
reader.skipType(tag & 7, long);
break;
}
}
if (length !== undefined) {
if (reader.pos !== end)
throw RangeError("index out of range");
reader.len = length;
}
return message;
};

GetCapacityRequest.fromObject = function fromObject(object, long) {
if (object instanceof $root.csi.v1.GetCapacityRequest)
return object;
if (!$util.isObject(object))
throw TypeError(".csi.v1.GetCapacityRequest: object expected");
if (long === undefined)
long = 0;
if (long > $util.recursionLimit)
throw Error("maximum nesting depth exceeded");
let message = new $root.csi.v1.GetCapacityRequest();
if (object.volume_capabilities) {
if (!Array.isArray(object.volume_capabilities))
throw TypeError(".csi.v1.GetCapacityRequest.volume_capabilities: array expected");
message.volume_capabilities = [];
for (let i = 0; i < object.volume_capabilities.length; ++i) {
if (!$util.isObject(object.volume_capabilities[i]))
throw TypeError(".csi.v1.GetCapacityRequest.volume_capabilities: object expected");
message.volume_capabilities[i] = $root.csi.v1.VolumeCapability.fromObject(object.volume_capabilities[i], long + 1);
}
}
if (object.parameters) {
if (!$util.isObject(object.parameters))
throw TypeError(".csi.v1.GetCapacityRequest.parameters: object expected");
message.parameters = {};
for (let keys = Object.keys(object.parameters), i = 0; i < keys.length; ++i) {
if (keys[i] === "__proto__")
$util.makeProp(message.parameters, keys[i]);
message.parameters[keys[i]] = String(object.parameters[keys[i]]);
}
}
if (object.accessible_topology != null) {
if (!$util.isObject(object.accessible_topology))
throw TypeError(".csi.v1.GetCapacityRequest.accessible_topology: object expected");
message.accessible_topology = $root.csi.v1.Topology.fromObject(object.accessible_topology, long + 1);
}
return message;
};

GetCapacityRequest.toObject = function toObject(message, options, q) {
if (!options)
options = {};
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
let object = {};
if (options.arrays || options.defaults)
object.volume_capabilities = [];
if (options.objects || options.defaults)
object.parameters = {};
if (options.defaults)
object.accessible_topology = null;
if (message.volume_capabilities && message.volume_capabilities.length) {
object.volume_capabilities = [];
for (let j = 0; j < message.volume_capabilities.length; ++j)
object.volume_capabilities[j] = $root.csi.v1.VolumeCapability.toObject(message.volume_capabilities[j], options, q + 1);
}
let keys2;
if (message.parameters && (keys2 = Object.keys(message.parameters)).length) {
object.parameters = {};
for (let j = 0; j < keys2.length; ++j) {
if (keys2[j] === "__proto__")
$util.makeProp(object.parameters, keys2[j]);
object.parameters[keys2[j]] = message.parameters[keys2[j]];
}
}
if (message.accessible_topology != null && Object.hasOwnProperty.call(message, "accessible_topology"))
object.accessible_topology = $root.csi.v1.Topology.toObject(message.accessible_topology, options, q + 1);
return object;
};

GetCapacityRequest.prototype.toJSON = function toJSON() {
return this.constructor.toObject(this, $protobuf.util.toJSONOptions);
};

return GetCapacityRequest;
})();

v1.GetCapacityResponse = (function() {

function GetCapacityResponse(properties) {
if (properties)
for (let keys = Object.keys(properties), i = 0; i < keys.length; ++i)
if (properties[keys[i]] != null && keys[i] !== "__proto__")
this[keys[i]] = properties[keys[i]];
}

GetCapacityResponse.prototype.available_capacity = $util.Long ? $util.Long.fromBits(0,0,false) : 0;
GetCapacityResponse.prototype.maximum_volume_size = null;
GetCapacityResponse.prototype.minimum_volume_size = null;

GetCapacityResponse.encode = function encode(message, writer, q) {
if (!writer)
writer = $Writer.create();
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
if (message.available_capacity != null && Object.hasOwnProperty.call(message, "available_capacity"))
writer.uint32(8).int64(message.available_capacity);
if (message.maximum_volume_size != null && Object.hasOwnProperty.call(message, "maximum_volume_size"))
$root.google.protobuf.Int64Value.encode(message.maximum_volume_size, writer.uint32(18).fork(), q + 1).ldelim();
if (message.minimum_volume_size != null && Object.hasOwnProperty.call(message, "minimum_volume_size"))
$root.google.protobuf.Int64Value.encode(message.minimum_volume_size, writer.uint32(26).fork(), q + 1).ldelim();
return writer;
};

GetCapacityResponse.decode = function decode(reader, length, error, long) {
if (!(reader instanceof $Reader))
reader = $Reader.create(reader);
if (long === undefined)
long = 0;
if (long > $Reader.recursionLimit)
throw Error("maximum nesting depth exceeded");
let end, message;
if (length === undefined)
end = reader.len;
else {
end = reader.pos + length;
if (end > reader.len)
throw RangeError("index out of range");
length = reader.len;
reader.len = end;
}
message = new $root.csi.v1.GetCapacityResponse();
while (reader.pos < end) {
let tag = reader.uint32();
if (tag === error)
break;
switch (tag >>> 3) {
case 1: {
message.available_capacity = reader.int64();
break;
}
case 2: {
message.maximum_volume_size = $root.google.protobuf.Int64Value.decode(reader, reader.uint32(), undefined, long + 1);
break;
}
case 3: {
message.minimum_volume_size = $root.google.protobuf.Int64Value.decode(reader, reader.uint32(), undefined, long + 1);
break;
}
default:
reader.skipType(tag & 7, long);
break;
}
}
if (length !== undefined) {
if (reader.pos !== end)
throw RangeError("index out of range");
reader.len = length;
}
return message;
};

GetCapacityResponse.fromObject = function fromObject(object, long) {
if (object instanceof $root.csi.v1.GetCapacityResponse)
return object;
if (!$util.isObject(object))
throw TypeError(".csi.v1.GetCapacityResponse: object expected");
if (long === undefined)
long = 0;
if (long > $util.recursionLimit)
throw Error("maximum nesting depth exceeded");
let message = new $root.csi.v1.GetCapacityResponse();
if (object.available_capacity != null)
if ($util.Long)
message.available_capacity = $util.Long.fromValue(object.available_capacity, false);
else if (typeof object.available_capacity === "string")
message.available_capacity = parseInt(object.available_capacity, 10);
else if (typeof object.available_capacity === "number")
message.available_capacity = object.available_capacity;
else if (typeof object.available_capacity === "object")
message.available_capacity = new $util.LongBits(object.available_capacity.low >>> 0, object.available_capacity.high >>> 0).toNumber();
if (object.maximum_volume_size != null) {
if (!$util.isObject(object.maximum_volume_size))
throw TypeError(".csi.v1.GetCapacityResponse.maximum_volume_size: object expected");
message.maximum_volume_size = $root.google.protobuf.Int64Value.fromObject(object.maximum_volume_size, long + 1);
}
if (object.minimum_volume_size != null) {
if (!$util.isObject(object.minimum_volume_size))
throw TypeError(".csi.v1.GetCapacityResponse.minimum_volume_size: object expected");
message.minimum_volume_size = $root.google.protobuf.Int64Value.fromObject(object.minimum_volume_size, long + 1);
}
return message;
};

GetCapacityResponse.toObject = function toObject(message, options, q) {
if (!options)
options = {};
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
let object = {};
if (options.defaults) {
if ($util.Long) {
let long = new $util.Long(0, 0, false);
object.available_capacity = options.longs === String ? long.toString() : options.longs === Number ? long.toNumber() : typeof BigInt !== "undefined" && options.longs === BigInt ? long.toBigInt() : long;
} else
object.available_capacity = options.longs === String ? "0" : typeof BigInt !== "undefined" && options.longs === BigInt ? BigInt("0") : 0;
object.maximum_volume_size = null;
object.minimum_volume_size = null;
}
if (message.available_capacity != null && Object.hasOwnProperty.call(message, "available_capacity"))
if (typeof BigInt !== "undefined" && options.longs === BigInt)
object.available_capacity = typeof message.available_capacity === "number" ? BigInt(message.available_capacity) : $util.Long.fromBits(message.available_capacity.low >>> 0, message.available_capacity.high >>> 0, false).toBigInt();
else if (typeof message.available_capacity === "number")
object.available_capacity = options.longs === String ? String(message.available_capacity) : message.available_capacity;
else
object.available_capacity = options.longs === String ? $util.Long.prototype.toString.call(message.available_capacity) : options.longs === Number ? new $util.LongBits(message.available_capacity.low >>> 0, message.available_capacity.high >>> 0).toNumber() : message.available_capacity;
if (message.maximum_volume_size != null && Object.hasOwnProperty.call(message, "maximum_volume_size"))
object.maximum_volume_size = $root.google.protobuf.Int64Value.toObject(message.maximum_volume_size, options, q + 1);
if (message.minimum_volume_size != null && Object.hasOwnProperty.call(message, "minimum_volume_size"))
object.minimum_volume_size = $root.google.protobuf.Int64Value.toObject(message.minimum_volume_size, options, q + 1);
return object;
};

GetCapacityResponse.prototype.toJSON = function toJSON() {
return this.constructor.toObject(this, $protobuf.util.toJSONOptions);
};

return GetCapacityResponse;
})();

v1.ControllerGetCapabilitiesRequest = (function() {

function ControllerGetCapabilitiesRequest(properties) {
if (properties)
for (let keys = Object.keys(properties), i = 0; i < keys.length; ++i)
if (properties[keys[i]] != null && keys[i] !== "__proto__")
this[keys[i]] = properties[keys[i]];
}

ControllerGetCapabilitiesRequest.encode = function encode(message, writer, q) {
if (!writer)
writer = $Writer.create();
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
return writer;
};

ControllerGetCapabilitiesRequest.decode = function decode(reader, length, error, long) {
if (!(reader instanceof $Reader))
reader = $Reader.create(reader);
if (long === undefined)
long = 0;
if (long > $Reader.recursionLimit)
throw Error("maximum nesting depth exceeded");
let end, message;
if (length === undefined)
end = reader.len;
else {
end = reader.pos + length;
if (end > reader.len)
throw RangeError("index out of range");
length = reader.len;
reader.len = end;
}
message = new $root.csi.v1.ControllerGetCapabilitiesRequest();
while (reader.pos < end) {
let tag = reader.uint32();
if (tag === error)
break;
switch (tag >>> 3) {
default:
reader.skipType(tag & 7, long);
break;
}
}
if (length !== undefined) {
if (reader.pos !== end)
throw RangeError("index out of range");
reader.len = length;
}
return message;
};

ControllerGetCapabilitiesRequest.fromObject = function fromObject(object, long) {
if (object instanceof $root.csi.v1.ControllerGetCapabilitiesRequest)
return object;
return new $root.csi.v1.ControllerGetCapabilitiesRequest();
};

ControllerGetCapabilitiesRequest.toObject = function toObject() {
return {};
};

ControllerGetCapabilitiesRequest.prototype.toJSON = function toJSON() {
return this.constructor.toObject(this, $protobuf.util.toJSONOptions);
};

return ControllerGetCapabilitiesRequest;
})();

v1.ControllerGetCapabilitiesResponse = (function() {

function ControllerGetCapabilitiesResponse(properties) {
this.capabilities = [];
if (properties)
for (let keys = Object.keys(properties), i = 0; i < keys.length; ++i)
if (properties[keys[i]] != null && keys[i] !== "__proto__")
this[keys[i]] = properties[keys[i]];
}

ControllerGetCapabilitiesResponse.prototype.capabilities = $util.emptyArray;

ControllerGetCapabilitiesResponse.encode = function encode(message, writer, q) {
if (!writer)
writer = $Writer.create();
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
if (message.capabilities != null && message.capabilities.length)
for (let i = 0; i < message.capabilities.length; ++i)
$root.csi.v1.ControllerServiceCapability.encode(message.capabilities[i], writer.uint32(10).fork(), q + 1).ldelim();
return writer;
};

ControllerGetCapabilitiesResponse.decode = function decode(reader, length, error, long) {
if (!(reader instanceof $Reader))
reader = $Reader.create(reader);
if (long === undefined)
long = 0;
if (long > $Reader.recursionLimit)
throw Error("maximum nesting depth exceeded");
let end, message;
if (length === undefined)
end = reader.len;
else {
end = reader.pos + length;
if (end > reader.len)
throw RangeError("index out of range");
length = reader.len;
reader.len = end;
}
message = new $root.csi.v1.ControllerGetCapabilitiesResponse();
while (reader.pos < end) {
let tag = reader.uint32();
if (tag === error)
break;
switch (tag >>> 3) {
case 1: {
if (!(message.capabilities && message.capabilities.length))
message.capabilities = [];
message.capabilities.push($root.csi.v1.ControllerServiceCapability.decode(reader, reader.uint32(), undefined, long + 1));
break;
}
default:
reader.skipType(tag & 7, long);
break;
}
}
if (length !== undefined) {
if (reader.pos !== end)
throw RangeError("index out of range");
reader.len = length;
}
return message;
};

ControllerGetCapabilitiesResponse.fromObject = function fromObject(object, long) {
if (object instanceof $root.csi.v1.ControllerGetCapabilitiesResponse)
return object;
if (!$util.isObject(object))
throw TypeError(".csi.v1.ControllerGetCapabilitiesResponse: object expected");
if (long === undefined)
long = 0;
if (long > $util.recursionLimit)
throw Error("maximum nesting depth exceeded");
let message = new $root.csi.v1.ControllerGetCapabilitiesResponse();
if (object.capabilities) {
if (!Array.isArray(object.capabilities))
throw TypeError(".csi.v1.ControllerGetCapabilitiesResponse.capabilities: array expected");
message.capabilities = [];
for (let i = 0; i < object.capabilities.length; ++i) {
if (!$util.isObject(object.capabilities[i]))
throw TypeError(".csi.v1.ControllerGetCapabilitiesResponse.capabilities: object expected");
message.capabilities[i] = $root.csi.v1.ControllerServiceCapability.fromObject(object.capabilities[i], long + 1);
}
}
return message;
};

ControllerGetCapabilitiesResponse.toObject = function toObject(message, options, q) {
if (!options)
options = {};
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
let object = {};
if (options.arrays || options.defaults)
object.capabilities = [];
if (message.capabilities && message.capabilities.length) {
object.capabilities = [];
for (let j = 0; j < message.capabilities.length; ++j)
object.capabilities[j] = $root.csi.v1.ControllerServiceCapability.toObject(message.capabilities[j], options, q + 1);
}
return object;
};

ControllerGetCapabilitiesResponse.prototype.toJSON = function toJSON() {
return this.constructor.toObject(this, $protobuf.util.toJSONOptions);
};

return ControllerGetCapabilitiesResponse;
})();

v1.ControllerServiceCapability = (function() {

function ControllerServiceCapability(properties) {
if (properties)
for (let keys = Object.keys(properties), i = 0; i < keys.length; ++i)
if (properties[keys[i]] != null && keys[i] !== "__proto__")
this[keys[i]] = properties[keys[i]];
}

ControllerServiceCapability.prototype.rpc = null;

let $oneOfFields;

Object.defineProperty(ControllerServiceCapability.prototype, "type", {
get: $util.oneOfGetter($oneOfFields = ["rpc"]),
set: $util.oneOfSetter($oneOfFields)
});

ControllerServiceCapability.encode = function encode(message, writer, q) {
if (!writer)
writer = $Writer.create();
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
if (message.rpc != null && Object.hasOwnProperty.call(message, "rpc"))
$root.csi.v1.ControllerServiceCapability.RPC.encode(message.rpc, writer.uint32(10).fork(), q + 1).ldelim();
return writer;
};

ControllerServiceCapability.decode = function decode(reader, length, error, long) {
if (!(reader instanceof $Reader))
reader = $Reader.create(reader);
if (long === undefined)
long = 0;
if (long > $Reader.recursionLimit)
throw Error("maximum nesting depth exceeded");
let end, message;
if (length === undefined)
end = reader.len;
else {
end = reader.pos + length;
if (end > reader.len)
throw RangeError("index out of range");
length = reader.len;
reader.len = end;
}
message = new $root.csi.v1.ControllerServiceCapability();
while (reader.pos < end) {
let tag = reader.uint32();
if (tag === error)
break;
switch (tag >>> 3) {
case 1: {
message.rpc = $root.csi.v1.ControllerServiceCapability.RPC.decode(reader, reader.uint32(), undefined, long + 1);
break;
}
default:
reader.skipType(tag & 7, long);
break;
}
}
if (length !== undefined) {
if (reader.pos !== end)
throw RangeError("index out of range");
reader.len = length;
}
return message;
};

ControllerServiceCapability.fromObject = function fromObject(object, long) {
if (object instanceof $root.csi.v1.ControllerServiceCapability)
return object;
if (!$util.isObject(object))
throw TypeError(".csi.v1.ControllerServiceCapability: object expected");
if (long === undefined)
long = 0;
if (long > $util.recursionLimit)
throw Error("maximum nesting depth exceeded");
let message = new $root.csi.v1.ControllerServiceCapability();
if (object.rpc != null) {
if (!$util.isObject(object.rpc))
throw TypeError(".csi.v1.ControllerServiceCapability.rpc: object expected");
message.rpc = $root.csi.v1.ControllerServiceCapability.RPC.fromObject(object.rpc, long + 1);
}
return message;
};

ControllerServiceCapability.toObject = function toObject(message, options, q) {
if (!options)
options = {};
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
let object = {};
if (message.rpc != null && Object.hasOwnProperty.call(message, "rpc")) {
object.rpc = $root.csi.v1.ControllerServiceCapability.RPC.toObject(message.rpc, options, q + 1);
if (options.oneofs)
object.type = "rpc";
}
return object;
};

ControllerServiceCapability.prototype.toJSON = function toJSON() {
return this.constructor.toObject(this, $protobuf.util.toJSONOptions);
};

ControllerServiceCapability.RPC = (function() {

function RPC(properties) {
if (properties)
for (let keys = Object.keys(properties), i = 0; i < keys.length; ++i)
if (properties[keys[i]] != null && keys[i] !== "__proto__")
this[keys[i]] = properties[keys[i]];
}

RPC.prototype.type = 0;

RPC.encode = function encode(message, writer, q) {
if (!writer)
writer = $Writer.create();
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
if (message.type != null && Object.hasOwnProperty.call(message, "type"))
writer.uint32(8).int32(message.type);
return writer;
};

RPC.decode = function decode(reader, length, error, long) {
if (!(reader instanceof $Reader))
reader = $Reader.create(reader);
if (long === undefined)
long = 0;
if (long > $Reader.recursionLimit)
throw Error("maximum nesting depth exceeded");
let end, message;
if (length === undefined)
end = reader.len;
else {
end = reader.pos + length;
if (end > reader.len)
throw RangeError("index out of range");
length = reader.len;
reader.len = end;
}
message = new $root.csi.v1.ControllerServiceCapability.RPC();
while (reader.pos < end) {
let tag = reader.uint32();
if (tag === error)
break;
switch (tag >>> 3) {
case 1: {
message.type = reader.int32();
break;
}
default:
reader.skipType(tag & 7, long);
break;
}
}
if (length !== undefined) {
if (reader.pos !== end)
throw RangeError("index out of range");
reader.len = length;
}
return message;
};

RPC.fromObject = function fromObject(object, long) {
if (object instanceof $root.csi.v1.ControllerServiceCapability.RPC)
return object;
if (!$util.isObject(object))
throw TypeError(".csi.v1.ControllerServiceCapability.RPC: object expected");
if (long === undefined)
long = 0;
if (long > $util.recursionLimit)
throw Error("maximum nesting depth exceeded");
let message = new $root.csi.v1.ControllerServiceCapability.RPC();
switch (object.type) {
default:
if (typeof object.type === "number") {
message.type = object.type;
break;
}
break;
case "UNKNOWN":
case 0:
message.type = 0;
break;
case "CREATE_DELETE_VOLUME":
case 1:
message.type = 1;
break;
case "PUBLISH_UNPUBLISH_VOLUME":
case 2:
message.type = 2;
break;
case "LIST_VOLUMES":
case 3:
message.type = 3;
break;
case "GET_CAPACITY":
case 4:
message.type = 4;
break;
case "CREATE_DELETE_SNAPSHOT":
case 5:
message.type = 5;
break;
case "LIST_SNAPSHOTS":
case 6:
message.type = 6;
break;
case "CLONE_VOLUME":
case 7:
message.type = 7;
break;
case "PUBLISH_READONLY":
case 8:
message.type = 8;
break;
case "EXPAND_VOLUME":
case 9:
message.type = 9;
break;
case "LIST_VOLUMES_PUBLISHED_NODES":
case 10:
message.type = 10;
break;
case "GET_VOLUME":
case 12:
message.type = 12;
break;
case "SINGLE_NODE_MULTI_WRITER":
case 13:
message.type = 13;
break;
case "MODIFY_VOLUME":
case 14:
message.type = 14;
break;
case "GET_SNAPSHOT":
case 15:
message.type = 15;
break;
case "GET_VOLUME_HEALTH":
case 16:
message.type = 16;
break;
case "LIST_VOLUME_HEALTH":
case 17:
message.type = 17;
break;
}
return message;
};

RPC.toObject = function toObject(message, options, q) {
if (!options)
options = {};
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
let object = {};
if (options.defaults)
object.type = options.enums === String ? "UNKNOWN" : 0;
if (message.type != null && Object.hasOwnProperty.call(message, "type"))
object.type = options.enums === String ? $root.csi.v1.ControllerServiceCapability.RPC.Type[message.type] === undefined ? message.type : $root.csi.v1.ControllerServiceCapability.RPC.Type[message.type] : message.type;
return object;
};

RPC.prototype.toJSON = function toJSON() {
return this.constructor.toObject(this, $protobuf.util.toJSONOptions);
};

RPC.Type = (function() {
const valuesById = {}, values = Object.create(valuesById);
values[valuesById[0] = "UNKNOWN"] = 0;
values[valuesById[1] = "CREATE_DELETE_VOLUME"] = 1;
values[valuesById[2] = "PUBLISH_UNPUBLISH_VOLUME"] = 2;
values[valuesById[3] = "LIST_VOLUMES"] = 3;
values[valuesById[4] = "GET_CAPACITY"] = 4;
values[valuesById[5] = "CREATE_DELETE_SNAPSHOT"] = 5;
values[valuesById[6] = "LIST_SNAPSHOTS"] = 6;
values[valuesById[7] = "CLONE_VOLUME"] = 7;
values[valuesById[8] = "PUBLISH_READONLY"] = 8;
values[valuesById[9] = "EXPAND_VOLUME"] = 9;
values[valuesById[10] = "LIST_VOLUMES_PUBLISHED_NODES"] = 10;
values[valuesById[12] = "GET_VOLUME"] = 12;
values[valuesById[13] = "SINGLE_NODE_MULTI_WRITER"] = 13;
values[valuesById[14] = "MODIFY_VOLUME"] = 14;
values[valuesById[15] = "GET_SNAPSHOT"] = 15;
values[valuesById[16] = "GET_VOLUME_HEALTH"] = 16;
values[valuesById[17] = "LIST_VOLUME_HEALTH"] = 17;
return values;
})();

return RPC;
})();

return ControllerServiceCapability;
})();

v1.CreateSnapshotRequest = (function() {

function CreateSnapshotRequest(properties) {
this.secrets = {};
this.parameters = {};
if (properties)
for (let keys = Object.keys(properties), i = 0; i < keys.length; ++i)
if (properties[keys[i]] != null && keys[i] !== "__proto__")
this[keys[i]] = properties[keys[i]];
}

CreateSnapshotRequest.prototype.source_volume_id = "";
CreateSnapshotRequest.prototype.name = "";
CreateSnapshotRequest.prototype.secrets = $util.emptyObject;
CreateSnapshotRequest.prototype.parameters = $util.emptyObject;
CreateSnapshotRequest.prototype.accessibility_requirements = null;

CreateSnapshotRequest.encode = function encode(message, writer, q) {
if (!writer)
writer = $Writer.create();
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
if (message.source_volume_id != null && Object.hasOwnProperty.call(message, "source_volume_id"))
writer.uint32(10).string(message.source_volume_id);
if (message.name != null && Object.hasOwnProperty.call(message, "name"))
writer.uint32(18).string(message.name);
if (message.secrets != null && Object.hasOwnProperty.call(message, "secrets"))
for (let keys = Object.keys(message.secrets), i = 0; i < keys.length; ++i)
writer.uint32(26).fork().uint32(10).string(keys[i]).uint32(18).string(message.secrets[keys[i]]).ldelim();
if (message.parameters != null && Object.hasOwnProperty.call(message, "parameters"))
for (let keys = Object.keys(message.parameters), i = 0; i < keys.length; ++i)
writer.uint32(34).fork().uint32(10).string(keys[i]).uint32(18).string(message.parameters[keys[i]]).ldelim();
if (message.accessibility_requirements != null && Object.hasOwnProperty.call(message, "accessibility_requirements"))
$root.csi.v1.TopologyRequirement.encode(message.accessibility_requirements, writer.uint32(42).fork(), q + 1).ldelim();
return writer;
};

CreateSnapshotRequest.decode = function decode(reader, length, error, long) {
if (!(reader instanceof $Reader))
reader = $Reader.create(reader);
if (long === undefined)
long = 0;
if (long > $Reader.recursionLimit)
throw Error("maximum nesting depth exceeded");
let end, message, key, value;
if (length === undefined)
end = reader.len;
else {
end = reader.pos + length;
if (end > reader.len)
throw RangeError("index out of range");
length = reader.len;
reader.len = end;
}
message = new $root.csi.v1.CreateSnapshotRequest();
while (reader.pos < end) {
let tag = reader.uint32();
if (tag === error)
break;
switch (tag >>> 3) {
case 1: {
message.source_volume_id = reader.string();
break;
}
case 2: {
message.name = reader.string();
break;
}
case 3: {
if (message.secrets === $util.emptyObject)
message.secrets = {};
let end2 = reader.uint32() + reader.pos;
if (end2 > reader.len)
throw RangeError("index out of range");
reader.len = end2;
key = "";
value = "";
while (reader.pos < end2) {
let tag2 = reader.uint32();
switch (tag2 >>> 3) {
case 1:
key = reader.string();
break;
case 2:
value = reader.string();
break;
default:
reader.skipType(tag2 & 7, long);
break;
}
}
if (reader.pos !== end2)
throw RangeError("index out of range");
reader.len = end;
if (key === "__proto__")
$util.makeProp(message.secrets, key);
message.secrets[key] = value;
break;
}
case 4: {
if (message.parameters === $util.emptyObject)
message.parameters = {};
let end2 = reader.uint32() + reader.pos;
if (end2 > reader.len)
throw RangeError("index out of range");
reader.len = end2;
key = "";
value = "";
while (reader.pos < end2) {
let tag2 = reader.uint32();
switch (tag2 >>> 3) {
case 1:
key = reader.string();
break;
case 2:
value = reader.string();
break;
default:
reader.skipType(tag2 & 7, long);
break;
}
}
if (reader.pos !== end2)
throw RangeError("index out of range");
reader.len = end;
if (key === "__proto__")
$util.makeProp(message.parameters, key);
message.parameters[key] = value;
break;
}
case 5: {
message.accessibility_requirements = $root.csi.v1.TopologyRequirement.decode(reader, reader.uint32(), undefined, long + 1);
break;
}
default:
reader.skipType(tag & 7, long);
break;
}
}
if (length !== undefined) {
if (reader.pos !== end)
throw RangeError("index out of range");
reader.len = length;
}
return message;
};

CreateSnapshotRequest.fromObject = function fromObject(object, long) {
if (object instanceof $root.csi.v1.CreateSnapshotRequest)
return object;
if (!$util.isObject(object))
throw TypeError(".csi.v1.CreateSnapshotRequest: object expected");
if (long === undefined)
long = 0;
if (long > $util.recursionLimit)
throw Error("maximum nesting depth exceeded");
let message = new $root.csi.v1.CreateSnapshotRequest();
if (object.source_volume_id != null)
message.source_volume_id = String(object.source_volume_id);
if (object.name != null)
message.name = String(object.name);
if (object.secrets) {
if (!$util.isObject(object.secrets))
throw TypeError(".csi.v1.CreateSnapshotRequest.secrets: object expected");
message.secrets = {};
for (let keys = Object.keys(object.secrets), i = 0; i < keys.length; ++i) {
if (keys[i] === "__proto__")
$util.makeProp(message.secrets, keys[i]);
message.secrets[keys[i]] = String(object.secrets[keys[i]]);
}
}
if (object.parameters) {
if (!$util.isObject(object.parameters))
throw TypeError(".csi.v1.CreateSnapshotRequest.parameters: object expected");
message.parameters = {};
for (let keys = Object.keys(object.parameters), i = 0; i < keys.length; ++i) {
if (keys[i] === "__proto__")
$util.makeProp(message.parameters, keys[i]);
message.parameters[keys[i]] = String(object.parameters[keys[i]]);
}
}
if (object.accessibility_requirements != null) {
if (!$util.isObject(object.accessibility_requirements))
throw TypeError(".csi.v1.CreateSnapshotRequest.accessibility_requirements: object expected");
message.accessibility_requirements = $root.csi.v1.TopologyRequirement.fromObject(object.accessibility_requirements, long + 1);
}
return message;
};

CreateSnapshotRequest.toObject = function toObject(message, options, q) {
if (!options)
options = {};
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
let object = {};
if (options.objects || options.defaults) {
object.secrets = {};
object.parameters = {};
}
if (options.defaults) {
object.source_volume_id = "";
object.name = "";
object.accessibility_requirements = null;
}
if (message.source_volume_id != null && Object.hasOwnProperty.call(message, "source_volume_id"))
object.source_volume_id = message.source_volume_id;
if (message.name != null && Object.hasOwnProperty.call(message, "name"))
object.name = message.name;
let keys2;
if (message.secrets && (keys2 = Object.keys(message.secrets)).length) {
object.secrets = {};
for (let j = 0; j < keys2.length; ++j) {
if (keys2[j] === "__proto__")
$util.makeProp(object.secrets, keys2[j]);
object.secrets[keys2[j]] = message.secrets[keys2[j]];
}
}
if (message.parameters && (keys2 = Object.keys(message.parameters)).length) {
object.parameters = {};
for (let j = 0; j < keys2.length; ++j) {
if (keys2[j] === "__proto__")
$util.makeProp(object.parameters, keys2[j]);
object.parameters[keys2[j]] = message.parameters[keys2[j]];
}
}
if (message.accessibility_requirements != null && Object.hasOwnProperty.call(message, "accessibility_requirements"))
object.accessibility_requirements = $root.csi.v1.TopologyRequirement.toObject(message.accessibility_requirements, options, q + 1);
return object;
};

CreateSnapshotRequest.prototype.toJSON = function toJSON() {
return this.constructor.toObject(this, $protobuf.util.toJSONOptions);
};

return CreateSnapshotRequest;
})();

v1.CreateSnapshotResponse = (function() {

function CreateSnapshotResponse(properties) {
if (properties)
for (let keys = Object.keys(properties), i = 0; i < keys.length; ++i)
if (properties[keys[i]] != null && keys[i] !== "__proto__")
this[keys[i]] = properties[keys[i]];
}

CreateSnapshotResponse.prototype.snapshot = null;

CreateSnapshotResponse.encode = function encode(message, writer, q) {
if (!writer)
writer = $Writer.create();
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
if (message.snapshot != null && Object.hasOwnProperty.call(message, "snapshot"))
$root.csi.v1.Snapshot.encode(message.snapshot, writer.uint32(10).fork(), q + 1).ldelim();
return writer;
};

CreateSnapshotResponse.decode = function decode(reader, length, error, long) {
if (!(reader instanceof $Reader))
reader = $Reader.create(reader);
if (long === undefined)
long = 0;
if (long > $Reader.recursionLimit)
throw Error("maximum nesting depth exceeded");
let end, message;
if (length === undefined)
end = reader.len;
else {
end = reader.pos + length;
if (end > reader.len)
throw RangeError("index out of range");
length = reader.len;
reader.len = end;
}
message = new $root.csi.v1.CreateSnapshotResponse();
while (reader.pos < end) {
let tag = reader.uint32();
if (tag === error)
break;
switch (tag >>> 3) {
case 1: {
message.snapshot = $root.csi.v1.Snapshot.decode(reader, reader.uint32(), undefined, long + 1);
break;
}
default:
reader.skipType(tag & 7, long);
break;
}
}
if (length !== undefined) {
if (reader.pos !== end)
throw RangeError("index out of range");
reader.len = length;
}
return message;
};

CreateSnapshotResponse.fromObject = function fromObject(object, long) {
if (object instanceof $root.csi.v1.CreateSnapshotResponse)
return object;
if (!$util.isObject(object))
throw TypeError(".csi.v1.CreateSnapshotResponse: object expected");
if (long === undefined)
long = 0;
if (long > $util.recursionLimit)
throw Error("maximum nesting depth exceeded");
let message = new $root.csi.v1.CreateSnapshotResponse();
if (object.snapshot != null) {
if (!$util.isObject(object.snapshot))
throw TypeError(".csi.v1.CreateSnapshotResponse.snapshot: object expected");
message.snapshot = $root.csi.v1.Snapshot.fromObject(object.snapshot, long + 1);
}
return message;
};

CreateSnapshotResponse.toObject = function toObject(message, options, q) {
if (!options)
options = {};
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
let object = {};
if (options.defaults)
object.snapshot = null;
if (message.snapshot != null && Object.hasOwnProperty.call(message, "snapshot"))
object.snapshot = $root.csi.v1.Snapshot.toObject(message.snapshot, options, q + 1);
return object;
};

CreateSnapshotResponse.prototype.toJSON = function toJSON() {
return this.constructor.toObject(this, $protobuf.util.toJSONOptions);
};

return CreateSnapshotResponse;
})();

v1.Snapshot = (function() {

function Snapshot(properties) {
this.accessible_topology = [];
if (properties)
for (let keys = Object.keys(properties), i = 0; i < keys.length; ++i)
if (properties[keys[i]] != null && keys[i] !== "__proto__")
this[keys[i]] = properties[keys[i]];
}

Snapshot.prototype.size_bytes = $util.Long ? $util.Long.fromBits(0,0,false) : 0;
Snapshot.prototype.snapshot_id = "";
Snapshot.prototype.source_volume_id = "";
Snapshot.prototype.creation_time = null;
Snapshot.prototype.ready_to_use = false;
Snapshot.prototype.group_snapshot_id = "";
Snapshot.prototype.accessible_topology = $util.emptyArray;

Snapshot.encode = function encode(message, writer, q) {
if (!writer)
writer = $Writer.create();
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
if (message.size_bytes != null && Object.hasOwnProperty.call(message, "size_bytes"))
writer.uint32(8).int64(message.size_bytes);
if (message.snapshot_id != null && Object.hasOwnProperty.call(message, "snapshot_id"))
writer.uint32(18).string(message.snapshot_id);
if (message.source_volume_id != null && Object.hasOwnProperty.call(message, "source_volume_id"))
writer.uint32(26).string(message.source_volume_id);
if (message.creation_time != null && Object.hasOwnProperty.call(message, "creation_time"))
$root.google.protobuf.Timestamp.encode(message.creation_time, writer.uint32(34).fork(), q + 1).ldelim();
if (message.ready_to_use != null && Object.hasOwnProperty.call(message, "ready_to_use"))
writer.uint32(40).bool(message.ready_to_use);
if (message.group_snapshot_id != null && Object.hasOwnProperty.call(message, "group_snapshot_id"))
writer.uint32(50).string(message.group_snapshot_id);
if (message.accessible_topology != null && message.accessible_topology.length)
for (let i = 0; i < message.accessible_topology.length; ++i)
$root.csi.v1.Topology.encode(message.accessible_topology[i], writer.uint32(58).fork(), q + 1).ldelim();
return writer;
};

Snapshot.decode = function decode(reader, length, error, long) {
if (!(reader instanceof $Reader))
reader = $Reader.create(reader);
if (long === undefined)
long = 0;
if (long > $Reader.recursionLimit)
throw Error("maximum nesting depth exceeded");
let end, message;
if (length === undefined)
end = reader.len;
else {
end = reader.pos + length;
if (end > reader.len)
throw RangeError("index out of range");
length = reader.len;
reader.len = end;
}
message = new $root.csi.v1.Snapshot();
while (reader.pos < end) {
let tag = reader.uint32();
if (tag === error)
break;
switch (tag >>> 3) {
case 1: {
message.size_bytes = reader.int64();
break;
}
case 2: {
message.snapshot_id = reader.string();
break;
}
case 3: {
message.source_volume_id = reader.string();
break;
}
case 4: {
message.creation_time = $root.google.protobuf.Timestamp.decode(reader, reader.uint32(), undefined, long + 1);
break;
}
case 5: {
message.ready_to_use = reader.bool();
break;
}
case 6: {
message.group_snapshot_id = reader.string();
break;
}
case 7: {
if (!(message.accessible_topology && message.accessible_topology.length))
message.accessible_topology = [];
message.accessible_topology.push($root.csi.v1.Topology.decode(reader, reader.uint32(), undefined, long + 1));
break;
}
default:
reader.skipType(tag & 7, long);
break;
}
}
if (length !== undefined) {
if (reader.pos !== end)
throw RangeError("index out of range");
reader.len = length;
}
return message;
};

Snapshot.fromObject = function fromObject(object, long) {
if (object instanceof $root.csi.v1.Snapshot)
return object;
if (!$util.isObject(object))
throw TypeError(".csi.v1.Snapshot: object expected");
if (long === undefined)
long = 0;
if (long > $util.recursionLimit)
throw Error("maximum nesting depth exceeded");
let message = new $root.csi.v1.Snapshot();
if (object.size_bytes != null)
if ($util.Long)
message.size_bytes = $util.Long.fromValue(object.size_bytes, false);
else if (typeof object.size_bytes === "string")
message.size_bytes = parseInt(object.size_bytes, 10);
else if (typeof object.size_bytes === "number")
message.size_bytes = object.size_bytes;
else if (typeof object.size_bytes === "object")
message.size_bytes = new $util.LongBits(object.size_bytes.low >>> 0, object.size_bytes.high >>> 0).toNumber();
if (object.snapshot_id != null)
message.snapshot_id = String(object.snapshot_id);
if (object.source_volume_id != null)
message.source_volume_id = String(object.source_volume_id);
if (object.creation_time != null) {
if (!$util.isObject(object.creation_time))
throw TypeError(".csi.v1.Snapshot.creation_time: object expected");
message.creation_time = $root.google.protobuf.Timestamp.fromObject(object.creation_time, long + 1);
}
if (object.ready_to_use != null)
message.ready_to_use = Boolean(object.ready_to_use);
if (object.group_snapshot_id != null)
message.group_snapshot_id = String(object.group_snapshot_id);
if (object.accessible_topology) {
if (!Array.isArray(object.accessible_topology))
throw TypeError(".csi.v1.Snapshot.accessible_topology: array expected");
message.accessible_topology = [];
for (let i = 0; i < object.accessible_topology.length; ++i) {
if (!$util.isObject(object.accessible_topology[i]))
throw TypeError(".csi.v1.Snapshot.accessible_topology: object expected");
message.accessible_topology[i] = $root.csi.v1.Topology.fromObject(object.accessible_topology[i], long + 1);
}
}
return message;
};

Snapshot.toObject = function toObject(message, options, q) {
if (!options)
options = {};
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
let object = {};
if (options.arrays || options.defaults)
object.accessible_topology = [];
if (options.defaults) {
if ($util.Long) {
let long = new $util.Long(0, 0, false);
object.size_bytes = options.longs === String ? long.toString() : options.longs === Number ? long.toNumber() : typeof BigInt !== "undefined" && options.longs === BigInt ? long.toBigInt() : long;
} else
object.size_bytes = options.longs === String ? "0" : typeof BigInt !== "undefined" && options.longs === BigInt ? BigInt("0") : 0;
object.snapshot_id = "";
object.source_volume_id = "";
object.creation_time = null;
object.ready_to_use = false;
object.group_snapshot_id = "";
}
if (message.size_bytes != null && Object.hasOwnProperty.call(message, "size_bytes"))
if (typeof BigInt !== "undefined" && options.longs === BigInt)
object.size_bytes = typeof message.size_bytes === "number" ? BigInt(message.size_bytes) : $util.Long.fromBits(message.size_bytes.low >>> 0, message.size_bytes.high >>> 0, false).toBigInt();
else if (typeof message.size_bytes === "number")
object.size_bytes = options.longs === String ? String(message.size_bytes) : message.size_bytes;
else
object.size_bytes = options.longs === String ? $util.Long.prototype.toString.call(message.size_bytes) : options.longs === Number ? new $util.LongBits(message.size_bytes.low >>> 0, message.size_bytes.high >>> 0).toNumber() : message.size_bytes;
if (message.snapshot_id != null && Object.hasOwnProperty.call(message, "snapshot_id"))
object.snapshot_id = message.snapshot_id;
if (message.source_volume_id != null && Object.hasOwnProperty.call(message, "source_volume_id"))
object.source_volume_id = message.source_volume_id;
if (message.creation_time != null && Object.hasOwnProperty.call(message, "creation_time"))
object.creation_time = $root.google.protobuf.Timestamp.toObject(message.creation_time, options, q + 1);
if (message.ready_to_use != null && Object.hasOwnProperty.call(message, "ready_to_use"))
object.ready_to_use = message.ready_to_use;
if (message.group_snapshot_id != null && Object.hasOwnProperty.call(message, "group_snapshot_id"))
object.group_snapshot_id = message.group_snapshot_id;
if (message.accessible_topology && message.accessible_topology.length) {
object.accessible_topology = [];
for (let j = 0; j < message.accessible_topology.length; ++j)
object.accessible_topology[j] = $root.csi.v1.Topology.toObject(message.accessible_topology[j], options, q + 1);
}
return object;
};

Snapshot.prototype.toJSON = function toJSON() {
return this.constructor.toObject(this, $protobuf.util.toJSONOptions);
};

return Snapshot;
})();

v1.DeleteSnapshotRequest = (function() {

function DeleteSnapshotRequest(properties) {
this.secrets = {};
if (properties)
for (let keys = Object.keys(properties), i = 0; i < keys.length; ++i)
if (properties[keys[i]] != null && keys[i] !== "__proto__")
this[keys[i]] = properties[keys[i]];
}

DeleteSnapshotRequest.prototype.snapshot_id = "";
DeleteSnapshotRequest.prototype.secrets = $util.emptyObject;

DeleteSnapshotRequest.encode = function encode(message, writer, q) {
if (!writer)
writer = $Writer.create();
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
if (message.snapshot_id != null && Object.hasOwnProperty.call(message, "snapshot_id"))
writer.uint32(10).string(message.snapshot_id);
if (message.secrets != null && Object.hasOwnProperty.call(message, "secrets"))
for (let keys = Object.keys(message.secrets), i = 0; i < keys.length; ++i)
writer.uint32(18).fork().uint32(10).string(keys[i]).uint32(18).string(message.secrets[keys[i]]).ldelim();
return writer;
};

DeleteSnapshotRequest.decode = function decode(reader, length, error, long) {
if (!(reader instanceof $Reader))
reader = $Reader.create(reader);
if (long === undefined)
long = 0;
if (long > $Reader.recursionLimit)
throw Error("maximum nesting depth exceeded");
let end, message, key, value;
if (length === undefined)
end = reader.len;
else {
end = reader.pos + length;
if (end > reader.len)
throw RangeError("index out of range");
length = reader.len;
reader.len = end;
}
message = new $root.csi.v1.DeleteSnapshotRequest();
while (reader.pos < end) {
let tag = reader.uint32();
if (tag === error)
break;
switch (tag >>> 3) {
case 1: {
message.snapshot_id = reader.string();
break;
}
case 2: {
if (message.secrets === $util.emptyObject)
message.secrets = {};
let end2 = reader.uint32() + reader.pos;
if (end2 > reader.len)
throw RangeError("index out of range");
reader.len = end2;
key = "";
value = "";
while (reader.pos < end2) {
let tag2 = reader.uint32();
switch (tag2 >>> 3) {
case 1:
key = reader.string();
break;
case 2:
value = reader.string();
break;
default:
reader.skipType(tag2 & 7, long);
break;
}
}
if (reader.pos !== end2)
throw RangeError("index out of range");
reader.len = end;
if (key === "__proto__")
$util.makeProp(message.secrets, key);
message.secrets[key] = value;
break;
}
default:
reader.skipType(tag & 7, long);
break;
}
}
if (length !== undefined) {
if (reader.pos !== end)
throw RangeError("index out of range");
reader.len = length;
}
return message;
};

DeleteSnapshotRequest.fromObject = function fromObject(object, long) {
if (object instanceof $root.csi.v1.DeleteSnapshotRequest)
return object;
if (!$util.isObject(object))
throw TypeError(".csi.v1.DeleteSnapshotRequest: object expected");
if (long === undefined)
long = 0;
if (long > $util.recursionLimit)
throw Error("maximum nesting depth exceeded");
let message = new $root.csi.v1.DeleteSnapshotRequest();
if (object.snapshot_id != null)
message.snapshot_id = String(object.snapshot_id);
if (object.secrets) {
if (!$util.isObject(object.secrets))
throw TypeError(".csi.v1.DeleteSnapshotRequest.secrets: object expected");
message.secrets = {};
for (let keys = Object.keys(object.secrets), i = 0; i < keys.length; ++i) {
if (keys[i] === "__proto__")
$util.makeProp(message.secrets, keys[i]);
message.secrets[keys[i]] = String(object.secrets[keys[i]]);
}
}
return message;
};

DeleteSnapshotRequest.toObject = function toObject(message, options, q) {
if (!options)
options = {};
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
let object = {};
if (options.objects || options.defaults)
object.secrets = {};
if (options.defaults)
object.snapshot_id = "";
if (message.snapshot_id != null && Object.hasOwnProperty.call(message, "snapshot_id"))
object.snapshot_id = message.snapshot_id;
let keys2;
if (message.secrets && (keys2 = Object.keys(message.secrets)).length) {
object.secrets = {};
for (let j = 0; j < keys2.length; ++j) {
if (keys2[j] === "__proto__")
$util.makeProp(object.secrets, keys2[j]);
object.secrets[keys2[j]] = message.secrets[keys2[j]];
}
}
return object;
};

DeleteSnapshotRequest.prototype.toJSON = function toJSON() {
return this.constructor.toObject(this, $protobuf.util.toJSONOptions);
};

return DeleteSnapshotRequest;
})();

v1.DeleteSnapshotResponse = (function() {

function DeleteSnapshotResponse(properties) {
if (properties)
for (let keys = Object.keys(properties), i = 0; i < keys.length; ++i)
if (properties[keys[i]] != null && keys[i] !== "__proto__")
this[keys[i]] = properties[keys[i]];
}

DeleteSnapshotResponse.encode = function encode(message, writer, q) {
if (!writer)
writer = $Writer.create();
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
return writer;
};

DeleteSnapshotResponse.decode = function decode(reader, length, error, long) {
if (!(reader instanceof $Reader))
reader = $Reader.create(reader);
if (long === undefined)
long = 0;
if (long > $Reader.recursionLimit)
throw Error("maximum nesting depth exceeded");
let end, message;
if (length === undefined)
end = reader.len;
else {
end = reader.pos + length;
if (end > reader.len)
throw RangeError("index out of range");
length = reader.len;
reader.len = end;
}
message = new $root.csi.v1.DeleteSnapshotResponse();
while (reader.pos < end) {
let tag = reader.uint32();
if (tag === error)
break;
switch (tag >>> 3) {
default:
reader.skipType(tag & 7, long);
break;
}
}
if (length !== undefined) {
if (reader.pos !== end)
throw RangeError("index out of range");
reader.len = length;
}
return message;
};

DeleteSnapshotResponse.fromObject = function fromObject(object, long) {
if (object instanceof $root.csi.v1.DeleteSnapshotResponse)
return object;
return new $root.csi.v1.DeleteSnapshotResponse();
};

DeleteSnapshotResponse.toObject = function toObject() {
return {};
};

DeleteSnapshotResponse.prototype.toJSON = function toJSON() {
return this.constructor.toObject(this, $protobuf.util.toJSONOptions);
};

return DeleteSnapshotResponse;
})();

v1.ListSnapshotsRequest = (function() {

function ListSnapshotsRequest(properties) {
this.secrets = {};
if (properties)
for (let keys = Object.keys(properties), i = 0; i < keys.length; ++i)
if (properties[keys[i]] != null && keys[i] !== "__proto__")
this[keys[i]] = properties[keys[i]];
}

ListSnapshotsRequest.prototype.max_entries = 0;
ListSnapshotsRequest.prototype.starting_token = "";
ListSnapshotsRequest.prototype.source_volume_id = "";
ListSnapshotsRequest.prototype.snapshot_id = "";
ListSnapshotsRequest.prototype.secrets = $util.emptyObject;

ListSnapshotsRequest.encode = function encode(message, writer, q) {
if (!writer)
writer = $Writer.create();
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
if (message.max_entries != null && Object.hasOwnProperty.call(message, "max_entries"))
writer.uint32(8).int32(message.max_entries);
if (message.starting_token != null && Object.hasOwnProperty.call(message, "starting_token"))
writer.uint32(18).string(message.starting_token);
if (message.source_volume_id != null && Object.hasOwnProperty.call(message, "source_volume_id"))
writer.uint32(26).string(message.source_volume_id);
if (message.snapshot_id != null && Object.hasOwnProperty.call(message, "snapshot_id"))
writer.uint32(34).string(message.snapshot_id);
if (message.secrets != null && Object.hasOwnProperty.call(message, "secrets"))
for (let keys = Object.keys(message.secrets), i = 0; i < keys.length; ++i)
writer.uint32(42).fork().uint32(10).string(keys[i]).uint32(18).string(message.secrets[keys[i]]).ldelim();
return writer;
};

ListSnapshotsRequest.decode = function decode(reader, length, error, long) {
if (!(reader instanceof $Reader))
reader = $Reader.create(reader);
if (long === undefined)
long = 0;
if (long > $Reader.recursionLimit)
throw Error("maximum nesting depth exceeded");
let end, message, key, value;
if (length === undefined)
end = reader.len;
else {
end = reader.pos + length;
if (end > reader.len)
throw RangeError("index out of range");
length = reader.len;
reader.len = end;
}
message = new $root.csi.v1.ListSnapshotsRequest();
while (reader.pos < end) {
let tag = reader.uint32();
if (tag === error)
break;
switch (tag >>> 3) {
case 1: {
message.max_entries = reader.int32();
break;
}
case 2: {
message.starting_token = reader.string();
break;
}
case 3: {
message.source_volume_id = reader.string();
break;
}
case 4: {
message.snapshot_id = reader.string();
break;
}
case 5: {
if (message.secrets === $util.emptyObject)
message.secrets = {};
let end2 = reader.uint32() + reader.pos;
if (end2 > reader.len)
throw RangeError("index out of range");
reader.len = end2;
key = "";
value = "";
while (reader.pos < end2) {
let tag2 = reader.uint32();
switch (tag2 >>> 3) {
case 1:
key = reader.string();
break;
case 2:
value = reader.string();
break;
default:
reader.skipType(tag2 & 7, long);
break;
}
}
if (reader.pos !== end2)
throw RangeError("index out of range");
reader.len = end;
if (key === "__proto__")
$util.makeProp(message.secrets, key);
message.secrets[key] = value;
break;
}
default:
reader.skipType(tag & 7, long);
break;
}
}
if (length !== undefined) {
if (reader.pos !== end)
throw RangeError("index out of range");
reader.len = length;
}
return message;
};

ListSnapshotsRequest.fromObject = function fromObject(object, long) {
if (object instanceof $root.csi.v1.ListSnapshotsRequest)
return object;
if (!$util.isObject(object))
throw TypeError(".csi.v1.ListSnapshotsRequest: object expected");
if (long === undefined)
long = 0;
if (long > $util.recursionLimit)
throw Error("maximum nesting depth exceeded");
let message = new $root.csi.v1.ListSnapshotsRequest();
if (object.max_entries != null)
message.max_entries = object.max_entries | 0;
if (object.starting_token != null)
message.starting_token = String(object.starting_token);
if (object.source_volume_id != null)
message.source_volume_id = String(object.source_volume_id);
if (object.snapshot_id != null)
message.snapshot_id = String(object.snapshot_id);
if (object.secrets) {
if (!$util.isObject(object.secrets))
throw TypeError(".csi.v1.ListSnapshotsRequest.secrets: object expected");
message.secrets = {};
for (let keys = Object.keys(object.secrets), i = 0; i < keys.length; ++i) {
if (keys[i] === "__proto__")
$util.makeProp(message.secrets, keys[i]);
message.secrets[keys[i]] = String(object.secrets[keys[i]]);
}
}
return message;
};

ListSnapshotsRequest.toObject = function toObject(message, options, q) {
if (!options)
options = {};
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
let object = {};
if (options.objects || options.defaults)
object.secrets = {};
if (options.defaults) {
object.max_entries = 0;
object.starting_token = "";
object.source_volume_id = "";
object.snapshot_id = "";
}
if (message.max_entries != null && Object.hasOwnProperty.call(message, "max_entries"))
object.max_entries = message.max_entries;
if (message.starting_token != null && Object.hasOwnProperty.call(message, "starting_token"))
object.starting_token = message.starting_token;
if (message.source_volume_id != null && Object.hasOwnProperty.call(message, "source_volume_id"))
object.source_volume_id = message.source_volume_id;
if (message.snapshot_id != null && Object.hasOwnProperty.call(message, "snapshot_id"))
object.snapshot_id = message.snapshot_id;
let keys2;
if (message.secrets && (keys2 = Object.keys(message.secrets)).length) {
object.secrets = {};
for (let j = 0; j < keys2.length; ++j) {
if (keys2[j] === "__proto__")
$util.makeProp(object.secrets, keys2[j]);
object.secrets[keys2[j]] = message.secrets[keys2[j]];
}
}
return object;
};

ListSnapshotsRequest.prototype.toJSON = function toJSON() {
return this.constructor.toObject(this, $protobuf.util.toJSONOptions);
};

return ListSnapshotsRequest;
})();

v1.ListSnapshotsResponse = (function() {

function ListSnapshotsResponse(properties) {
this.entries = [];
if (properties)
for (let keys = Object.keys(properties), i = 0; i < keys.length; ++i)
if (properties[keys[i]] != null && keys[i] !== "__proto__")
this[keys[i]] = properties[keys[i]];
}

ListSnapshotsResponse.prototype.entries = $util.emptyArray;
ListSnapshotsResponse.prototype.next_token = "";

ListSnapshotsResponse.encode = function encode(message, writer, q) {
if (!writer)
writer = $Writer.create();
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
if (message.entries != null && message.entries.length)
for (let i = 0; i < message.entries.length; ++i)
$root.csi.v1.ListSnapshotsResponse.Entry.encode(message.entries[i], writer.uint32(10).fork(), q + 1).ldelim();
if (message.next_token != null && Object.hasOwnProperty.call(message, "next_token"))
writer.uint32(18).string(message.next_token);
return writer;
};

ListSnapshotsResponse.decode = function decode(reader, length, error, long) {
if (!(reader instanceof $Reader))
reader = $Reader.create(reader);
if (long === undefined)
long = 0;
if (long > $Reader.recursionLimit)
throw Error("maximum nesting depth exceeded");
let end, message;
if (length === undefined)
end = reader.len;
else {
end = reader.pos + length;
if (end > reader.len)
throw RangeError("index out of range");
length = reader.len;
reader.len = end;
}
message = new $root.csi.v1.ListSnapshotsResponse();
while (reader.pos < end) {
let tag = reader.uint32();
if (tag === error)
break;
switch (tag >>> 3) {
case 1: {
if (!(message.entries && message.entries.length))
message.entries = [];
message.entries.push($root.csi.v1.ListSnapshotsResponse.Entry.decode(reader, reader.uint32(), undefined, long + 1));
break;
}
case 2: {
message.next_token = reader.string();
break;
}
default:
reader.skipType(tag & 7, long);
break;
}
}
if (length !== undefined) {
if (reader.pos !== end)
throw RangeError("index out of range");
reader.len = length;
}
return message;
};

ListSnapshotsResponse.fromObject = function fromObject(object, long) {
if (object instanceof $root.csi.v1.ListSnapshotsResponse)
return object;
if (!$util.isObject(object))
throw TypeError(".csi.v1.ListSnapshotsResponse: object expected");
if (long === undefined)
long = 0;
if (long > $util.recursionLimit)
throw Error("maximum nesting depth exceeded");
let message = new $root.csi.v1.ListSnapshotsResponse();
if (object.entries) {
if (!Array.isArray(object.entries))
throw TypeError(".csi.v1.ListSnapshotsResponse.entries: array expected");
message.entries = [];
for (let i = 0; i < object.entries.length; ++i) {
if (!$util.isObject(object.entries[i]))
throw TypeError(".csi.v1.ListSnapshotsResponse.entries: object expected");
message.entries[i] = $root.csi.v1.ListSnapshotsResponse.Entry.fromObject(object.entries[i], long + 1);
}
}
if (object.next_token != null)
message.next_token = String(object.next_token);
return message;
};

ListSnapshotsResponse.toObject = function toObject(message, options, q) {
if (!options)
options = {};
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
let object = {};
if (options.arrays || options.defaults)
object.entries = [];
if (options.defaults)
object.next_token = "";
if (message.entries && message.entries.length) {
object.entries = [];
for (let j = 0; j < message.entries.length; ++j)
object.entries[j] = $root.csi.v1.ListSnapshotsResponse.Entry.toObject(message.entries[j], options, q + 1);
}
if (message.next_token != null && Object.hasOwnProperty.call(message, "next_token"))
object.next_token = message.next_token;
return object;
};

ListSnapshotsResponse.prototype.toJSON = function toJSON() {
return this.constructor.toObject(this, $protobuf.util.toJSONOptions);
};

ListSnapshotsResponse.Entry = (function() {

function Entry(properties) {
if (properties)
for (let keys = Object.keys(properties), i = 0; i < keys.length; ++i)
if (properties[keys[i]] != null && keys[i] !== "__proto__")
this[keys[i]] = properties[keys[i]];
}

Entry.prototype.snapshot = null;

Entry.encode = function encode(message, writer, q) {
if (!writer)
writer = $Writer.create();
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
if (message.snapshot != null && Object.hasOwnProperty.call(message, "snapshot"))
$root.csi.v1.Snapshot.encode(message.snapshot, writer.uint32(10).fork(), q + 1).ldelim();
return writer;
};

Entry.decode = function decode(reader, length, error, long) {
if (!(reader instanceof $Reader))
reader = $Reader.create(reader);
if (long === undefined)
long = 0;
if (long > $Reader.recursionLimit)
throw Error("maximum nesting depth exceeded");
let end, message;
if (length === undefined)
end = reader.len;
else {
end = reader.pos + length;
if (end > reader.len)
throw RangeError("index out of range");
length = reader.len;
reader.len = end;
}
message = new $root.csi.v1.ListSnapshotsResponse.Entry();
while (reader.pos < end) {
let tag = reader.uint32();
if (tag === error)
break;
switch (tag >>> 3) {
case 1: {
message.snapshot = $root.csi.v1.Snapshot.decode(reader, reader.uint32(), undefined, long + 1);
break;
}
default:
reader.skipType(tag & 7, long);
break;
}
}
if (length !== undefined) {
if (reader.pos !== end)
throw RangeError("index out of range");
reader.len = length;
}
return message;
};

Entry.fromObject = function fromObject(object, long) {
if (object instanceof $root.csi.v1.ListSnapshotsResponse.Entry)
return object;
if (!$util.isObject(object))
throw TypeError(".csi.v1.ListSnapshotsResponse.Entry: object expected");
if (long === undefined)
long = 0;
if (long > $util.recursionLimit)
throw Error("maximum nesting depth exceeded");
let message = new $root.csi.v1.ListSnapshotsResponse.Entry();
if (object.snapshot != null) {
if (!$util.isObject(object.snapshot))
throw TypeError(".csi.v1.ListSnapshotsResponse.Entry.snapshot: object expected");
message.snapshot = $root.csi.v1.Snapshot.fromObject(object.snapshot, long + 1);
}
return message;
};

Entry.toObject = function toObject(message, options, q) {
if (!options)
options = {};
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
let object = {};
if (options.defaults)
object.snapshot = null;
if (message.snapshot != null && Object.hasOwnProperty.call(message, "snapshot"))
object.snapshot = $root.csi.v1.Snapshot.toObject(message.snapshot, options, q + 1);
return object;
};

Entry.prototype.toJSON = function toJSON() {
return this.constructor.toObject(this, $protobuf.util.toJSONOptions);
};

return Entry;
})();

return ListSnapshotsResponse;
})();

v1.GetSnapshotRequest = (function() {

function GetSnapshotRequest(properties) {
this.secrets = {};
if (properties)
for (let keys = Object.keys(properties), i = 0; i < keys.length; ++i)
if (properties[keys[i]] != null && keys[i] !== "__proto__")
this[keys[i]] = properties[keys[i]];
}

GetSnapshotRequest.prototype.snapshot_id = "";
GetSnapshotRequest.prototype.secrets = $util.emptyObject;

GetSnapshotRequest.encode = function encode(message, writer, q) {
if (!writer)
writer = $Writer.create();
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
if (message.snapshot_id != null && Object.hasOwnProperty.call(message, "snapshot_id"))
writer.uint32(10).string(message.snapshot_id);
if (message.secrets != null && Object.hasOwnProperty.call(message, "secrets"))
for (let keys = Object.keys(message.secrets), i = 0; i < keys.length; ++i)
writer.uint32(18).fork().uint32(10).string(keys[i]).uint32(18).string(message.secrets[keys[i]]).ldelim();
return writer;
};

GetSnapshotRequest.decode = function decode(reader, length, error, long) {
if (!(reader instanceof $Reader))
reader = $Reader.create(reader);
if (long === undefined)
long = 0;
if (long > $Reader.recursionLimit)
throw Error("maximum nesting depth exceeded");
let end, message, key, value;
if (length === undefined)
end = reader.len;
else {
end = reader.pos + length;
if (end > reader.len)
throw RangeError("index out of range");
length = reader.len;
reader.len = end;
}
message = new $root.csi.v1.GetSnapshotRequest();
while (reader.pos < end) {
let tag = reader.uint32();
if (tag === error)
break;
switch (tag >>> 3) {
case 1: {
message.snapshot_id = reader.string();
break;
}
case 2: {
if (message.secrets === $util.emptyObject)
message.secrets = {};
let end2 = reader.uint32() + reader.pos;
if (end2 > reader.len)
throw RangeError("index out of range");
reader.len = end2;
key = "";
value = "";
while (reader.pos < end2) {
let tag2 = reader.uint32();
switch (tag2 >>> 3) {
case 1:
key = reader.string();
break;
case 2:
value = reader.string();
break;
default:
reader.skipType(tag2 & 7, long);
break;
}
}
if (reader.pos !== end2)
throw RangeError("index out of range");
reader.len = end;
if (key === "__proto__")
$util.makeProp(message.secrets, key);
message.secrets[key] = value;
break;
}
default:
reader.skipType(tag & 7, long);
break;
}
}
if (length !== undefined) {
if (reader.pos !== end)
throw RangeError("index out of range");
reader.len = length;
}
return message;
};

GetSnapshotRequest.fromObject = function fromObject(object, long) {
if (object instanceof $root.csi.v1.GetSnapshotRequest)
return object;
if (!$util.isObject(object))
throw TypeError(".csi.v1.GetSnapshotRequest: object expected");
if (long === undefined)
long = 0;
if (long > $util.recursionLimit)
throw Error("maximum nesting depth exceeded");
let message = new $root.csi.v1.GetSnapshotRequest();
if (object.snapshot_id != null)
message.snapshot_id = String(object.snapshot_id);
if (object.secrets) {
if (!$util.isObject(object.secrets))
throw TypeError(".csi.v1.GetSnapshotRequest.secrets: object expected");
message.secrets = {};
for (let keys = Object.keys(object.secrets), i = 0; i < keys.length; ++i) {
if (keys[i] === "__proto__")
$util.makeProp(message.secrets, keys[i]);
message.secrets[keys[i]] = String(object.secrets[keys[i]]);
}
}
return message;
};

GetSnapshotRequest.toObject = function toObject(message, options, q) {
if (!options)
options = {};
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
let object = {};
if (options.objects || options.defaults)
object.secrets = {};
if (options.defaults)
object.snapshot_id = "";
if (message.snapshot_id != null && Object.hasOwnProperty.call(message, "snapshot_id"))
object.snapshot_id = message.snapshot_id;
let keys2;
if (message.secrets && (keys2 = Object.keys(message.secrets)).length) {
object.secrets = {};
for (let j = 0; j < keys2.length; ++j) {
if (keys2[j] === "__proto__")
$util.makeProp(object.secrets, keys2[j]);
object.secrets[keys2[j]] = message.secrets[keys2[j]];
}
}
return object;
};

GetSnapshotRequest.prototype.toJSON = function toJSON() {
return this.constructor.toObject(this, $protobuf.util.toJSONOptions);
};

return GetSnapshotRequest;
})();

v1.GetSnapshotResponse = (function() {

function GetSnapshotResponse(properties) {
if (properties)
for (let keys = Object.keys(properties), i = 0; i < keys.length; ++i)
if (properties[keys[i]] != null && keys[i] !== "__proto__")
this[keys[i]] = properties[keys[i]];
}

GetSnapshotResponse.prototype.snapshot = null;

GetSnapshotResponse.encode = function encode(message, writer, q) {
if (!writer)
writer = $Writer.create();
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
if (message.snapshot != null && Object.hasOwnProperty.call(message, "snapshot"))
$root.csi.v1.Snapshot.encode(message.snapshot, writer.uint32(10).fork(), q + 1).ldelim();
return writer;
};

GetSnapshotResponse.decode = function decode(reader, length, error, long) {
if (!(reader instanceof $Reader))
reader = $Reader.create(reader);
if (long === undefined)
long = 0;
if (long > $Reader.recursionLimit)
throw Error("maximum nesting depth exceeded");
let end, message;
if (length === undefined)
end = reader.len;
else {
end = reader.pos + length;
if (end > reader.len)
throw RangeError("index out of range");
length = reader.len;
reader.len = end;
}
message = new $root.csi.v1.GetSnapshotResponse();
while (reader.pos < end) {
let tag = reader.uint32();
if (tag === error)
break;
switch (tag >>> 3) {
case 1: {
message.snapshot = $root.csi.v1.Snapshot.decode(reader, reader.uint32(), undefined, long + 1);
break;
}
default:
reader.skipType(tag & 7, long);
break;
}
}
if (length !== undefined) {
if (reader.pos !== end)
throw RangeError("index out of range");
reader.len = length;
}
return message;
};

GetSnapshotResponse.fromObject = function fromObject(object, long) {
if (object instanceof $root.csi.v1.GetSnapshotResponse)
return object;
if (!$util.isObject(object))
throw TypeError(".csi.v1.GetSnapshotResponse: object expected");
if (long === undefined)
long = 0;
if (long > $util.recursionLimit)
throw Error("maximum nesting depth exceeded");
let message = new $root.csi.v1.GetSnapshotResponse();
if (object.snapshot != null) {
if (!$util.isObject(object.snapshot))
throw TypeError(".csi.v1.GetSnapshotResponse.snapshot: object expected");
message.snapshot = $root.csi.v1.Snapshot.fromObject(object.snapshot, long + 1);
}
return message;
};

GetSnapshotResponse.toObject = function toObject(message, options, q) {
if (!options)
options = {};
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
let object = {};
if (options.defaults)
object.snapshot = null;
if (message.snapshot != null && Object.hasOwnProperty.call(message, "snapshot"))
object.snapshot = $root.csi.v1.Snapshot.toObject(message.snapshot, options, q + 1);
return object;
};

GetSnapshotResponse.prototype.toJSON = function toJSON() {
return this.constructor.toObject(this, $protobuf.util.toJSONOptions);
};

return GetSnapshotResponse;
})();

v1.ControllerExpandVolumeRequest = (function() {

function ControllerExpandVolumeRequest(properties) {
this.secrets = {};
if (properties)
for (let keys = Object.keys(properties), i = 0; i < keys.length; ++i)
if (properties[keys[i]] != null && keys[i] !== "__proto__")
this[keys[i]] = properties[keys[i]];
}

ControllerExpandVolumeRequest.prototype.volume_id = "";
ControllerExpandVolumeRequest.prototype.capacity_range = null;
ControllerExpandVolumeRequest.prototype.secrets = $util.emptyObject;
ControllerExpandVolumeRequest.prototype.volume_capability = null;

ControllerExpandVolumeRequest.encode = function encode(message, writer, q) {
if (!writer)
writer = $Writer.create();
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
if (message.volume_id != null && Object.hasOwnProperty.call(message, "volume_id"))
writer.uint32(10).string(message.volume_id);
if (message.capacity_range != null && Object.hasOwnProperty.call(message, "capacity_range"))
$root.csi.v1.CapacityRange.encode(message.capacity_range, writer.uint32(18).fork(), q + 1).ldelim();
if (message.secrets != null && Object.hasOwnProperty.call(message, "secrets"))
for (let keys = Object.keys(message.secrets), i = 0; i < keys.length; ++i)
writer.uint32(26).fork().uint32(10).string(keys[i]).uint32(18).string(message.secrets[keys[i]]).ldelim();
if (message.volume_capability != null && Object.hasOwnProperty.call(message, "volume_capability"))
$root.csi.v1.VolumeCapability.encode(message.volume_capability, writer.uint32(34).fork(), q + 1).ldelim();
return writer;
};

ControllerExpandVolumeRequest.decode = function decode(reader, length, error, long) {
if (!(reader instanceof $Reader))
reader = $Reader.create(reader);
if (long === undefined)
long = 0;
if (long > $Reader.recursionLimit)
throw Error("maximum nesting depth exceeded");
let end, message, key, value;
if (length === undefined)
end = reader.len;
else {
end = reader.pos + length;
if (end > reader.len)
throw RangeError("index out of range");
length = reader.len;
reader.len = end;
}
message = new $root.csi.v1.ControllerExpandVolumeRequest();
while (reader.pos < end) {
let tag = reader.uint32();
if (tag === error)
break;
switch (tag >>> 3) {
case 1: {
message.volume_id = reader.string();
break;
}
case 2: {
message.capacity_range = $root.csi.v1.CapacityRange.decode(reader, reader.uint32(), undefined, long + 1);
break;
}
case 3: {
if (message.secrets === $util.emptyObject)
message.secrets = {};
let end2 = reader.uint32() + reader.pos;
if (end2 > reader.len)
throw RangeError("index out of range");
reader.len = end2;
key = "";
value = "";
while (reader.pos < end2) {
let tag2 = reader.uint32();
switch (tag2 >>> 3) {
case 1:
key = reader.string();
break;
case 2:
value = reader.string();
break;
default:
reader.skipType(tag2 & 7, long);
break;
}
}
if (reader.pos !== end2)
throw RangeError("index out of range");
reader.len = end;
if (key === "__proto__")
$util.makeProp(message.secrets, key);
message.secrets[key] = value;
break;
}
case 4: {
message.volume_capability = $root.csi.v1.VolumeCapability.decode(reader, reader.uint32(), undefined, long + 1);
break;
}
default:
reader.skipType(tag & 7, long);
break;
}
}
if (length !== undefined) {
if (reader.pos !== end)
throw RangeError("index out of range");
reader.len = length;
}
return message;
};

ControllerExpandVolumeRequest.fromObject = function fromObject(object, long) {
if (object instanceof $root.csi.v1.ControllerExpandVolumeRequest)
return object;
if (!$util.isObject(object))
throw TypeError(".csi.v1.ControllerExpandVolumeRequest: object expected");
if (long === undefined)
long = 0;
if (long > $util.recursionLimit)
throw Error("maximum nesting depth exceeded");
let message = new $root.csi.v1.ControllerExpandVolumeRequest();
if (object.volume_id != null)
message.volume_id = String(object.volume_id);
if (object.capacity_range != null) {
if (!$util.isObject(object.capacity_range))
throw TypeError(".csi.v1.ControllerExpandVolumeRequest.capacity_range: object expected");
message.capacity_range = $root.csi.v1.CapacityRange.fromObject(object.capacity_range, long + 1);
}
if (object.secrets) {
if (!$util.isObject(object.secrets))
throw TypeError(".csi.v1.ControllerExpandVolumeRequest.secrets: object expected");
message.secrets = {};
for (let keys = Object.keys(object.secrets), i = 0; i < keys.length; ++i) {
if (keys[i] === "__proto__")
$util.makeProp(message.secrets, keys[i]);
message.secrets[keys[i]] = String(object.secrets[keys[i]]);
}
}
if (object.volume_capability != null) {
if (!$util.isObject(object.volume_capability))
throw TypeError(".csi.v1.ControllerExpandVolumeRequest.volume_capability: object expected");
message.volume_capability = $root.csi.v1.VolumeCapability.fromObject(object.volume_capability, long + 1);
}
return message;
};

ControllerExpandVolumeRequest.toObject = function toObject(message, options, q) {
if (!options)
options = {};
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
let object = {};
if (options.objects || options.defaults)
object.secrets = {};
if (options.defaults) {
object.volume_id = "";
object.capacity_range = null;
object.volume_capability = null;
}
if (message.volume_id != null && Object.hasOwnProperty.call(message, "volume_id"))
object.volume_id = message.volume_id;
if (message.capacity_range != null && Object.hasOwnProperty.call(message, "capacity_range"))
object.capacity_range = $root.csi.v1.CapacityRange.toObject(message.capacity_range, options, q + 1);
let keys2;
if (message.secrets && (keys2 = Object.keys(message.secrets)).length) {
object.secrets = {};
for (let j = 0; j < keys2.length; ++j) {
if (keys2[j] === "__proto__")
$util.makeProp(object.secrets, keys2[j]);
object.secrets[keys2[j]] = message.secrets[keys2[j]];
}
}
if (message.volume_capability != null && Object.hasOwnProperty.call(message, "volume_capability"))
object.volume_capability = $root.csi.v1.VolumeCapability.toObject(message.volume_capability, options, q + 1);
return object;
};

ControllerExpandVolumeRequest.prototype.toJSON = function toJSON() {
return this.constructor.toObject(this, $protobuf.util.toJSONOptions);
};

return ControllerExpandVolumeRequest;
})();

v1.ControllerExpandVolumeResponse = (function() {

function ControllerExpandVolumeResponse(properties) {
if (properties)
for (let keys = Object.keys(properties), i = 0; i < keys.length; ++i)
if (properties[keys[i]] != null && keys[i] !== "__proto__")
this[keys[i]] = properties[keys[i]];
}

ControllerExpandVolumeResponse.prototype.capacity_bytes = $util.Long ? $util.Long.fromBits(0,0,false) : 0;
ControllerExpandVolumeResponse.prototype.node_expansion_required = false;

ControllerExpandVolumeResponse.encode = function encode(message, writer, q) {
if (!writer)
writer = $Writer.create();
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
if (message.capacity_bytes != null && Object.hasOwnProperty.call(message, "capacity_bytes"))
writer.uint32(8).int64(message.capacity_bytes);
if (message.node_expansion_required != null && Object.hasOwnProperty.call(message, "node_expansion_required"))
writer.uint32(16).bool(message.node_expansion_required);
return writer;
};

ControllerExpandVolumeResponse.decode = function decode(reader, length, error, long) {
if (!(reader instanceof $Reader))
reader = $Reader.create(reader);
if (long === undefined)
long = 0;
if (long > $Reader.recursionLimit)
throw Error("maximum nesting depth exceeded");
let end, message;
if (length === undefined)
end = reader.len;
else {
end = reader.pos + length;
if (end > reader.len)
throw RangeError("index out of range");
length = reader.len;
reader.len = end;
}
message = new $root.csi.v1.ControllerExpandVolumeResponse();
while (reader.pos < end) {
let tag = reader.uint32();
if (tag === error)
break;
switch (tag >>> 3) {
case 1: {
message.capacity_bytes = reader.int64();
break;
}
case 2: {
message.node_expansion_required = reader.bool();
break;
}
default:
reader.skipType(tag & 7, long);
break;
}
}
if (length !== undefined) {
if (reader.pos !== end)
throw RangeError("index out of range");
reader.len = length;
}
return message;
};

ControllerExpandVolumeResponse.fromObject = function fromObject(object, long) {
if (object instanceof $root.csi.v1.ControllerExpandVolumeResponse)
return object;
if (!$util.isObject(object))
throw TypeError(".csi.v1.ControllerExpandVolumeResponse: object expected");
if (long === undefined)
long = 0;
if (long > $util.recursionLimit)
throw Error("maximum nesting depth exceeded");
let message = new $root.csi.v1.ControllerExpandVolumeResponse();
if (object.capacity_bytes != null)
if ($util.Long)
message.capacity_bytes = $util.Long.fromValue(object.capacity_bytes, false);
else if (typeof object.capacity_bytes === "string")
message.capacity_bytes = parseInt(object.capacity_bytes, 10);
else if (typeof object.capacity_bytes === "number")
message.capacity_bytes = object.capacity_bytes;
else if (typeof object.capacity_bytes === "object")
message.capacity_bytes = new $util.LongBits(object.capacity_bytes.low >>> 0, object.capacity_bytes.high >>> 0).toNumber();
if (object.node_expansion_required != null)
message.node_expansion_required = Boolean(object.node_expansion_required);
return message;
};

ControllerExpandVolumeResponse.toObject = function toObject(message, options, q) {
if (!options)
options = {};
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
let object = {};
if (options.defaults) {
if ($util.Long) {
let long = new $util.Long(0, 0, false);
object.capacity_bytes = options.longs === String ? long.toString() : options.longs === Number ? long.toNumber() : typeof BigInt !== "undefined" && options.longs === BigInt ? long.toBigInt() : long;
} else
object.capacity_bytes = options.longs === String ? "0" : typeof BigInt !== "undefined" && options.longs === BigInt ? BigInt("0") : 0;
object.node_expansion_required = false;
}
if (message.capacity_bytes != null && Object.hasOwnProperty.call(message, "capacity_bytes"))
if (typeof BigInt !== "undefined" && options.longs === BigInt)
object.capacity_bytes = typeof message.capacity_bytes === "number" ? BigInt(message.capacity_bytes) : $util.Long.fromBits(message.capacity_bytes.low >>> 0, message.capacity_bytes.high >>> 0, false).toBigInt();
else if (typeof message.capacity_bytes === "number")
object.capacity_bytes = options.longs === String ? String(message.capacity_bytes) : message.capacity_bytes;
else
object.capacity_bytes = options.longs === String ? $util.Long.prototype.toString.call(message.capacity_bytes) : options.longs === Number ? new $util.LongBits(message.capacity_bytes.low >>> 0, message.capacity_bytes.high >>> 0).toNumber() : message.capacity_bytes;
if (message.node_expansion_required != null && Object.hasOwnProperty.call(message, "node_expansion_required"))
object.node_expansion_required = message.node_expansion_required;
return object;
};

ControllerExpandVolumeResponse.prototype.toJSON = function toJSON() {
return this.constructor.toObject(this, $protobuf.util.toJSONOptions);
};

return ControllerExpandVolumeResponse;
})();

v1.GroupControllerGetCapabilitiesRequest = (function() {

function GroupControllerGetCapabilitiesRequest(properties) {
if (properties)
for (let keys = Object.keys(properties), i = 0; i < keys.length; ++i)
if (properties[keys[i]] != null && keys[i] !== "__proto__")
this[keys[i]] = properties[keys[i]];
}

GroupControllerGetCapabilitiesRequest.encode = function encode(message, writer, q) {
if (!writer)
writer = $Writer.create();
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
return writer;
};

GroupControllerGetCapabilitiesRequest.decode = function decode(reader, length, error, long) {
if (!(reader instanceof $Reader))
reader = $Reader.create(reader);
if (long === undefined)
long = 0;
if (long > $Reader.recursionLimit)
throw Error("maximum nesting depth exceeded");
let end, message;
if (length === undefined)
end = reader.len;
else {
end = reader.pos + length;
if (end > reader.len)
throw RangeError("index out of range");
length = reader.len;
reader.len = end;
}
message = new $root.csi.v1.GroupControllerGetCapabilitiesRequest();
while (reader.pos < end) {
let tag = reader.uint32();
if (tag === error)
break;
switch (tag >>> 3) {
default:
reader.skipType(tag & 7, long);
break;
}
}
if (length !== undefined) {
if (reader.pos !== end)
throw RangeError("index out of range");
reader.len = length;
}
return message;
};

GroupControllerGetCapabilitiesRequest.fromObject = function fromObject(object, long) {
if (object instanceof $root.csi.v1.GroupControllerGetCapabilitiesRequest)
return object;
return new $root.csi.v1.GroupControllerGetCapabilitiesRequest();
};

GroupControllerGetCapabilitiesRequest.toObject = function toObject() {
return {};
};

GroupControllerGetCapabilitiesRequest.prototype.toJSON = function toJSON() {
return this.constructor.toObject(this, $protobuf.util.toJSONOptions);
};

return GroupControllerGetCapabilitiesRequest;
})();

v1.GroupControllerGetCapabilitiesResponse = (function() {

function GroupControllerGetCapabilitiesResponse(properties) {
this.capabilities = [];
if (properties)
for (let keys = Object.keys(properties), i = 0; i < keys.length; ++i)
if (properties[keys[i]] != null && keys[i] !== "__proto__")
this[keys[i]] = properties[keys[i]];
}

GroupControllerGetCapabilitiesResponse.prototype.capabilities = $util.emptyArray;

GroupControllerGetCapabilitiesResponse.encode = function encode(message, writer, q) {
if (!writer)
writer = $Writer.create();
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
if (message.capabilities != null && message.capabilities.length)
for (let i = 0; i < message.capabilities.length; ++i)
$root.csi.v1.GroupControllerServiceCapability.encode(message.capabilities[i], writer.uint32(10).fork(), q + 1).ldelim();
return writer;
};

GroupControllerGetCapabilitiesResponse.decode = function decode(reader, length, error, long) {
if (!(reader instanceof $Reader))
reader = $Reader.create(reader);
if (long === undefined)
long = 0;
if (long > $Reader.recursionLimit)
throw Error("maximum nesting depth exceeded");
let end, message;
if (length === undefined)
end = reader.len;
else {
end = reader.pos + length;
if (end > reader.len)
throw RangeError("index out of range");
length = reader.len;
reader.len = end;
}
message = new $root.csi.v1.GroupControllerGetCapabilitiesResponse();
while (reader.pos < end) {
let tag = reader.uint32();
if (tag === error)
break;
switch (tag >>> 3) {
case 1: {
if (!(message.capabilities && message.capabilities.length))
message.capabilities = [];
message.capabilities.push($root.csi.v1.GroupControllerServiceCapability.decode(reader, reader.uint32(), undefined, long + 1));
break;
}
default:
reader.skipType(tag & 7, long);
break;
}
}
if (length !== undefined) {
if (reader.pos !== end)
throw RangeError("index out of range");
reader.len = length;
}
return message;
};

GroupControllerGetCapabilitiesResponse.fromObject = function fromObject(object, long) {
if (object instanceof $root.csi.v1.GroupControllerGetCapabilitiesResponse)
return object;
if (!$util.isObject(object))
throw TypeError(".csi.v1.GroupControllerGetCapabilitiesResponse: object expected");
if (long === undefined)
long = 0;
if (long > $util.recursionLimit)
throw Error("maximum nesting depth exceeded");
let message = new $root.csi.v1.GroupControllerGetCapabilitiesResponse();
if (object.capabilities) {
if (!Array.isArray(object.capabilities))
throw TypeError(".csi.v1.GroupControllerGetCapabilitiesResponse.capabilities: array expected");
message.capabilities = [];
for (let i = 0; i < object.capabilities.length; ++i) {
if (!$util.isObject(object.capabilities[i]))
throw TypeError(".csi.v1.GroupControllerGetCapabilitiesResponse.capabilities: object expected");
message.capabilities[i] = $root.csi.v1.GroupControllerServiceCapability.fromObject(object.capabilities[i], long + 1);
}
}
return message;
};

GroupControllerGetCapabilitiesResponse.toObject = function toObject(message, options, q) {
if (!options)
options = {};
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
let object = {};
if (options.arrays || options.defaults)
object.capabilities = [];
if (message.capabilities && message.capabilities.length) {
object.capabilities = [];
for (let j = 0; j < message.capabilities.length; ++j)
object.capabilities[j] = $root.csi.v1.GroupControllerServiceCapability.toObject(message.capabilities[j], options, q + 1);
}
return object;
};

GroupControllerGetCapabilitiesResponse.prototype.toJSON = function toJSON() {
return this.constructor.toObject(this, $protobuf.util.toJSONOptions);
};

return GroupControllerGetCapabilitiesResponse;
})();

v1.GroupControllerServiceCapability = (function() {

function GroupControllerServiceCapability(properties) {
if (properties)
for (let keys = Object.keys(properties), i = 0; i < keys.length; ++i)
if (properties[keys[i]] != null && keys[i] !== "__proto__")
this[keys[i]] = properties[keys[i]];
}

GroupControllerServiceCapability.prototype.rpc = null;

let $oneOfFields;

Object.defineProperty(GroupControllerServiceCapability.prototype, "type", {
get: $util.oneOfGetter($oneOfFields = ["rpc"]),
set: $util.oneOfSetter($oneOfFields)
});

GroupControllerServiceCapability.encode = function encode(message, writer, q) {
if (!writer)
writer = $Writer.create();
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
if (message.rpc != null && Object.hasOwnProperty.call(message, "rpc"))
$root.csi.v1.GroupControllerServiceCapability.RPC.encode(message.rpc, writer.uint32(10).fork(), q + 1).ldelim();
return writer;
};

GroupControllerServiceCapability.decode = function decode(reader, length, error, long) {
if (!(reader instanceof $Reader))
reader = $Reader.create(reader);
if (long === undefined)
long = 0;
if (long > $Reader.recursionLimit)
throw Error("maximum nesting depth exceeded");
let end, message;
if (length === undefined)
end = reader.len;
else {
end = reader.pos + length;
if (end > reader.len)
throw RangeError("index out of range");
length = reader.len;
reader.len = end;
}
message = new $root.csi.v1.GroupControllerServiceCapability();
while (reader.pos < end) {
let tag = reader.uint32();
if (tag === error)
break;
switch (tag >>> 3) {
case 1: {
message.rpc = $root.csi.v1.GroupControllerServiceCapability.RPC.decode(reader, reader.uint32(), undefined, long + 1);
break;
}
default:
reader.skipType(tag & 7, long);
break;
}
}
if (length !== undefined) {
if (reader.pos !== end)
throw RangeError("index out of range");
reader.len = length;
}
return message;
};

GroupControllerServiceCapability.fromObject = function fromObject(object, long) {
if (object instanceof $root.csi.v1.GroupControllerServiceCapability)
return object;
if (!$util.isObject(object))
throw TypeError(".csi.v1.GroupControllerServiceCapability: object expected");
if (long === undefined)
long = 0;
if (long > $util.recursionLimit)
throw Error("maximum nesting depth exceeded");
let message = new $root.csi.v1.GroupControllerServiceCapability();
if (object.rpc != null) {
if (!$util.isObject(object.rpc))
throw TypeError(".csi.v1.GroupControllerServiceCapability.rpc: object expected");
message.rpc = $root.csi.v1.GroupControllerServiceCapability.RPC.fromObject(object.rpc, long + 1);
}
return message;
};

GroupControllerServiceCapability.toObject = function toObject(message, options, q) {
if (!options)
options = {};
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
let object = {};
if (message.rpc != null && Object.hasOwnProperty.call(message, "rpc")) {
object.rpc = $root.csi.v1.GroupControllerServiceCapability.RPC.toObject(message.rpc, options, q + 1);
if (options.oneofs)
object.type = "rpc";
}
return object;
};

GroupControllerServiceCapability.prototype.toJSON = function toJSON() {
return this.constructor.toObject(this, $protobuf.util.toJSONOptions);
};

GroupControllerServiceCapability.RPC = (function() {

function RPC(properties) {
if (properties)
for (let keys = Object.keys(properties), i = 0; i < keys.length; ++i)
if (properties[keys[i]] != null && keys[i] !== "__proto__")
this[keys[i]] = properties[keys[i]];
}

RPC.prototype.type = 0;

RPC.encode = function encode(message, writer, q) {
if (!writer)
writer = $Writer.create();
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
if (message.type != null && Object.hasOwnProperty.call(message, "type"))
writer.uint32(8).int32(message.type);
return writer;
};

RPC.decode = function decode(reader, length, error, long) {
if (!(reader instanceof $Reader))
reader = $Reader.create(reader);
if (long === undefined)
long = 0;
if (long > $Reader.recursionLimit)
throw Error("maximum nesting depth exceeded");
let end, message;
if (length === undefined)
end = reader.len;
else {
end = reader.pos + length;
if (end > reader.len)
throw RangeError("index out of range");
length = reader.len;
reader.len = end;
}
message = new $root.csi.v1.GroupControllerServiceCapability.RPC();
while (reader.pos < end) {
let tag = reader.uint32();
if (tag === error)
break;
switch (tag >>> 3) {
case 1: {
message.type = reader.int32();
break;
}
default:
reader.skipType(tag & 7, long);
break;
}
}
if (length !== undefined) {
if (reader.pos !== end)
throw RangeError("index out of range");
reader.len = length;
}
return message;
};

RPC.fromObject = function fromObject(object, long) {
if (object instanceof $root.csi.v1.GroupControllerServiceCapability.RPC)
return object;
if (!$util.isObject(object))
throw TypeError(".csi.v1.GroupControllerServiceCapability.RPC: object expected");
if (long === undefined)
long = 0;
if (long > $util.recursionLimit)
throw Error("maximum nesting depth exceeded");
let message = new $root.csi.v1.GroupControllerServiceCapability.RPC();
switch (object.type) {
default:
if (typeof object.type === "number") {
message.type = object.type;
break;
}
break;
case "UNKNOWN":
case 0:
message.type = 0;
break;
case "CREATE_DELETE_GET_VOLUME_GROUP_SNAPSHOT":
case 1:
message.type = 1;
break;
}
return message;
};

RPC.toObject = function toObject(message, options, q) {
if (!options)
options = {};
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
let object = {};
if (options.defaults)
object.type = options.enums === String ? "UNKNOWN" : 0;
if (message.type != null && Object.hasOwnProperty.call(message, "type"))
object.type = options.enums === String ? $root.csi.v1.GroupControllerServiceCapability.RPC.Type[message.type] === undefined ? message.type : $root.csi.v1.GroupControllerServiceCapability.RPC.Type[message.type] : message.type;
return object;
};

RPC.prototype.toJSON = function toJSON() {
return this.constructor.toObject(this, $protobuf.util.toJSONOptions);
};

RPC.Type = (function() {
const valuesById = {}, values = Object.create(valuesById);
values[valuesById[0] = "UNKNOWN"] = 0;
values[valuesById[1] = "CREATE_DELETE_GET_VOLUME_GROUP_SNAPSHOT"] = 1;
return values;
})();

return RPC;
})();

return GroupControllerServiceCapability;
})();

v1.CreateVolumeGroupSnapshotRequest = (function() {

function CreateVolumeGroupSnapshotRequest(properties) {
this.source_volume_ids = [];
this.secrets = {};
this.parameters = {};
if (properties)
for (let keys = Object.keys(properties), i = 0; i < keys.length; ++i)
if (properties[keys[i]] != null && keys[i] !== "__proto__")
this[keys[i]] = properties[keys[i]];
}

CreateVolumeGroupSnapshotRequest.prototype.name = "";
CreateVolumeGroupSnapshotRequest.prototype.source_volume_ids = $util.emptyArray;
CreateVolumeGroupSnapshotRequest.prototype.secrets = $util.emptyObject;
CreateVolumeGroupSnapshotRequest.prototype.parameters = $util.emptyObject;

CreateVolumeGroupSnapshotRequest.encode = function encode(message, writer, q) {
if (!writer)
writer = $Writer.create();
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
if (message.name != null && Object.hasOwnProperty.call(message, "name"))
writer.uint32(10).string(message.name);
if (message.source_volume_ids != null && message.source_volume_ids.length)
for (let i = 0; i < message.source_volume_ids.length; ++i)
writer.uint32(18).string(message.source_volume_ids[i]);
if (message.secrets != null && Object.hasOwnProperty.call(message, "secrets"))
for (let keys = Object.keys(message.secrets), i = 0; i < keys.length; ++i)
writer.uint32(26).fork().uint32(10).string(keys[i]).uint32(18).string(message.secrets[keys[i]]).ldelim();
if (message.parameters != null && Object.hasOwnProperty.call(message, "parameters"))
for (let keys = Object.keys(message.parameters), i = 0; i < keys.length; ++i)
writer.uint32(34).fork().uint32(10).string(keys[i]).uint32(18).string(message.parameters[keys[i]]).ldelim();
return writer;
};

CreateVolumeGroupSnapshotRequest.decode = function decode(reader, length, error, long) {
if (!(reader instanceof $Reader))
reader = $Reader.create(reader);
if (long === undefined)
long = 0;
if (long > $Reader.recursionLimit)
throw Error("maximum nesting depth exceeded");
let end, message, key, value;
if (length === undefined)
end = reader.len;
else {
end = reader.pos + length;
if (end > reader.len)
throw RangeError("index out of range");
length = reader.len;
reader.len = end;
}
message = new $root.csi.v1.CreateVolumeGroupSnapshotRequest();
while (reader.pos < end) {
let tag = reader.uint32();
if (tag === error)
break;
switch (tag >>> 3) {
case 1: {
message.name = reader.string();
break;
}
case 2: {
if (!(message.source_volume_ids && message.source_volume_ids.length))
message.source_volume_ids = [];
message.source_volume_ids.push(reader.string());
break;
}
case 3: {
if (message.secrets === $util.emptyObject)
message.secrets = {};
let end2 = reader.uint32() + reader.pos;
if (end2 > reader.len)
throw RangeError("index out of range");
reader.len = end2;
key = "";
value = "";
while (reader.pos < end2) {
let tag2 = reader.uint32();
switch (tag2 >>> 3) {
case 1:
key = reader.string();
break;
case 2:
value = reader.string();
break;
default:
reader.skipType(tag2 & 7, long);
break;
}
}
if (reader.pos !== end2)
throw RangeError("index out of range");
reader.len = end;
if (key === "__proto__")
$util.makeProp(message.secrets, key);
message.secrets[key] = value;
break;
}
case 4: {
if (message.parameters === $util.emptyObject)
message.parameters = {};
let end2 = reader.uint32() + reader.pos;
if (end2 > reader.len)
throw RangeError("index out of range");
reader.len = end2;
key = "";
value = "";
while (reader.pos < end2) {
let tag2 = reader.uint32();
switch (tag2 >>> 3) {
case 1:
key = reader.string();
break;
case 2:
value = reader.string();
break;
default:
reader.skipType(tag2 & 7, long);
break;
}
}
if (reader.pos !== end2)
throw RangeError("index out of range");
reader.len = end;
if (key === "__proto__")
$util.makeProp(message.parameters, key);
message.parameters[key] = value;
break;
}
default:
reader.skipType(tag & 7, long);
break;
}
}
if (length !== undefined) {
if (reader.pos !== end)
throw RangeError("index out of range");
reader.len = length;
}
return message;
};

CreateVolumeGroupSnapshotRequest.fromObject = function fromObject(object, long) {
if (object instanceof $root.csi.v1.CreateVolumeGroupSnapshotRequest)
return object;
if (!$util.isObject(object))
throw TypeError(".csi.v1.CreateVolumeGroupSnapshotRequest: object expected");
if (long === undefined)
long = 0;
if (long > $util.recursionLimit)
throw Error("maximum nesting depth exceeded");
let message = new $root.csi.v1.CreateVolumeGroupSnapshotRequest();
if (object.name != null)
message.name = String(object.name);
if (object.source_volume_ids) {
if (!Array.isArray(object.source_volume_ids))
throw TypeError(".csi.v1.CreateVolumeGroupSnapshotRequest.source_volume_ids: array expected");
message.source_volume_ids = [];
for (let i = 0; i < object.source_volume_ids.length; ++i)
message.source_volume_ids[i] = String(object.source_volume_ids[i]);
}
if (object.secrets) {
if (!$util.isObject(object.secrets))
throw TypeError(".csi.v1.CreateVolumeGroupSnapshotRequest.secrets: object expected");
message.secrets = {};
for (let keys = Object.keys(object.secrets), i = 0; i < keys.length; ++i) {
if (keys[i] === "__proto__")
$util.makeProp(message.secrets, keys[i]);
message.secrets[keys[i]] = String(object.secrets[keys[i]]);
}
}
if (object.parameters) {
if (!$util.isObject(object.parameters))
throw TypeError(".csi.v1.CreateVolumeGroupSnapshotRequest.parameters: object expected");
message.parameters = {};
for (let keys = Object.keys(object.parameters), i = 0; i < keys.length; ++i) {
if (keys[i] === "__proto__")
$util.makeProp(message.parameters, keys[i]);
message.parameters[keys[i]] = String(object.parameters[keys[i]]);
}
}
return message;
};

CreateVolumeGroupSnapshotRequest.toObject = function toObject(message, options, q) {
if (!options)
options = {};
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
let object = {};
if (options.arrays || options.defaults)
object.source_volume_ids = [];
if (options.objects || options.defaults) {
object.secrets = {};
object.parameters = {};
}
if (options.defaults)
object.name = "";
if (message.name != null && Object.hasOwnProperty.call(message, "name"))
object.name = message.name;
if (message.source_volume_ids && message.source_volume_ids.length) {
object.source_volume_ids = [];
for (let j = 0; j < message.source_volume_ids.length; ++j)
object.source_volume_ids[j] = message.source_volume_ids[j];
}
let keys2;
if (message.secrets && (keys2 = Object.keys(message.secrets)).length) {
object.secrets = {};
for (let j = 0; j < keys2.length; ++j) {
if (keys2[j] === "__proto__")
$util.makeProp(object.secrets, keys2[j]);
object.secrets[keys2[j]] = message.secrets[keys2[j]];
}
}
if (message.parameters && (keys2 = Object.keys(message.parameters)).length) {
object.parameters = {};
for (let j = 0; j < keys2.length; ++j) {
if (keys2[j] === "__proto__")
$util.makeProp(object.parameters, keys2[j]);
object.parameters[keys2[j]] = message.parameters[keys2[j]];
}
}
return object;
};

CreateVolumeGroupSnapshotRequest.prototype.toJSON = function toJSON() {
return this.constructor.toObject(this, $protobuf.util.toJSONOptions);
};

return CreateVolumeGroupSnapshotRequest;
})();

v1.CreateVolumeGroupSnapshotResponse = (function() {

function CreateVolumeGroupSnapshotResponse(properties) {
if (properties)
for (let keys = Object.keys(properties), i = 0; i < keys.length; ++i)
if (properties[keys[i]] != null && keys[i] !== "__proto__")
this[keys[i]] = properties[keys[i]];
}

CreateVolumeGroupSnapshotResponse.prototype.group_snapshot = null;

CreateVolumeGroupSnapshotResponse.encode = function encode(message, writer, q) {
if (!writer)
writer = $Writer.create();
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
if (message.group_snapshot != null && Object.hasOwnProperty.call(message, "group_snapshot"))
$root.csi.v1.VolumeGroupSnapshot.encode(message.group_snapshot, writer.uint32(10).fork(), q + 1).ldelim();
return writer;
};

CreateVolumeGroupSnapshotResponse.decode = function decode(reader, length, error, long) {
if (!(reader instanceof $Reader))
reader = $Reader.create(reader);
if (long === undefined)
long = 0;
if (long > $Reader.recursionLimit)
throw Error("maximum nesting depth exceeded");
let end, message;
if (length === undefined)
end = reader.len;
else {
end = reader.pos + length;
if (end > reader.len)
throw RangeError("index out of range");
length = reader.len;
reader.len = end;
}
message = new $root.csi.v1.CreateVolumeGroupSnapshotResponse();
while (reader.pos < end) {
let tag = reader.uint32();
if (tag === error)
break;
switch (tag >>> 3) {
case 1: {
message.group_snapshot = $root.csi.v1.VolumeGroupSnapshot.decode(reader, reader.uint32(), undefined, long + 1);
break;
}
default:
reader.skipType(tag & 7, long);
break;
}
}
if (length !== undefined) {
if (reader.pos !== end)
throw RangeError("index out of range");
reader.len = length;
}
return message;
};

CreateVolumeGroupSnapshotResponse.fromObject = function fromObject(object, long) {
if (object instanceof $root.csi.v1.CreateVolumeGroupSnapshotResponse)
return object;
if (!$util.isObject(object))
throw TypeError(".csi.v1.CreateVolumeGroupSnapshotResponse: object expected");
if (long === undefined)
long = 0;
if (long > $util.recursionLimit)
throw Error("maximum nesting depth exceeded");
let message = new $root.csi.v1.CreateVolumeGroupSnapshotResponse();
if (object.group_snapshot != null) {
if (!$util.isObject(object.group_snapshot))
throw TypeError(".csi.v1.CreateVolumeGroupSnapshotResponse.group_snapshot: object expected");
message.group_snapshot = $root.csi.v1.VolumeGroupSnapshot.fromObject(object.group_snapshot, long + 1);
}
return message;
};

CreateVolumeGroupSnapshotResponse.toObject = function toObject(message, options, q) {
if (!options)
options = {};
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
let object = {};
if (options.defaults)
object.group_snapshot = null;
if (message.group_snapshot != null && Object.hasOwnProperty.call(message, "group_snapshot"))
object.group_snapshot = $root.csi.v1.VolumeGroupSnapshot.toObject(message.group_snapshot, options, q + 1);
return object;
};

CreateVolumeGroupSnapshotResponse.prototype.toJSON = function toJSON() {
return this.constructor.toObject(this, $protobuf.util.toJSONOptions);
};

return CreateVolumeGroupSnapshotResponse;
})();

v1.VolumeGroupSnapshot = (function() {

function VolumeGroupSnapshot(properties) {
this.snapshots = [];
if (properties)
for (let keys = Object.keys(properties), i = 0; i < keys.length; ++i)
if (properties[keys[i]] != null && keys[i] !== "__proto__")
this[keys[i]] = properties[keys[i]];
}

VolumeGroupSnapshot.prototype.group_snapshot_id = "";
VolumeGroupSnapshot.prototype.snapshots = $util.emptyArray;
VolumeGroupSnapshot.prototype.creation_time = null;
VolumeGroupSnapshot.prototype.ready_to_use = false;

VolumeGroupSnapshot.encode = function encode(message, writer, q) {
if (!writer)
writer = $Writer.create();
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
if (message.group_snapshot_id != null && Object.hasOwnProperty.call(message, "group_snapshot_id"))
writer.uint32(10).string(message.group_snapshot_id);
if (message.snapshots != null && message.snapshots.length)
for (let i = 0; i < message.snapshots.length; ++i)
$root.csi.v1.Snapshot.encode(message.snapshots[i], writer.uint32(18).fork(), q + 1).ldelim();
if (message.creation_time != null && Object.hasOwnProperty.call(message, "creation_time"))
$root.google.protobuf.Timestamp.encode(message.creation_time, writer.uint32(26).fork(), q + 1).ldelim();
if (message.ready_to_use != null && Object.hasOwnProperty.call(message, "ready_to_use"))
writer.uint32(32).bool(message.ready_to_use);
return writer;
};

VolumeGroupSnapshot.decode = function decode(reader, length, error, long) {
if (!(reader instanceof $Reader))
reader = $Reader.create(reader);
if (long === undefined)
long = 0;
if (long > $Reader.recursionLimit)
throw Error("maximum nesting depth exceeded");
let end, message;
if (length === undefined)
end = reader.len;
else {
end = reader.pos + length;
if (end > reader.len)
throw RangeError("index out of range");
length = reader.len;
reader.len = end;
}
message = new $root.csi.v1.VolumeGroupSnapshot();
while (reader.pos < end) {
let tag = reader.uint32();
if (tag === error)
break;
switch (tag >>> 3) {
case 1: {
message.group_snapshot_id = reader.string();
break;
}
case 2: {
if (!(message.snapshots && message.snapshots.length))
message.snapshots = [];
message.snapshots.push($root.csi.v1.Snapshot.decode(reader, reader.uint32(), undefined, long + 1));
break;
}
case 3: {
message.creation_time = $root.google.protobuf.Timestamp.decode(reader, reader.uint32(), undefined, long + 1);
break;
}
case 4: {
message.ready_to_use = reader.bool();
break;
}
default:
reader.skipType(tag & 7, long);
break;
}
}
if (length !== undefined) {
if (reader.pos !== end)
throw RangeError("index out of range");
reader.len = length;
}
return message;
};

VolumeGroupSnapshot.fromObject = function fromObject(object, long) {
if (object instanceof $root.csi.v1.VolumeGroupSnapshot)
return object;
if (!$util.isObject(object))
throw TypeError(".csi.v1.VolumeGroupSnapshot: object expected");
if (long === undefined)
long = 0;
if (long > $util.recursionLimit)
throw Error("maximum nesting depth exceeded");
let message = new $root.csi.v1.VolumeGroupSnapshot();
if (object.group_snapshot_id != null)
message.group_snapshot_id = String(object.group_snapshot_id);
if (object.snapshots) {
if (!Array.isArray(object.snapshots))
throw TypeError(".csi.v1.VolumeGroupSnapshot.snapshots: array expected");
message.snapshots = [];
for (let i = 0; i < object.snapshots.length; ++i) {
if (!$util.isObject(object.snapshots[i]))
throw TypeError(".csi.v1.VolumeGroupSnapshot.snapshots: object expected");
message.snapshots[i] = $root.csi.v1.Snapshot.fromObject(object.snapshots[i], long + 1);
}
}
if (object.creation_time != null) {
if (!$util.isObject(object.creation_time))
throw TypeError(".csi.v1.VolumeGroupSnapshot.creation_time: object expected");
message.creation_time = $root.google.protobuf.Timestamp.fromObject(object.creation_time, long + 1);
}
if (object.ready_to_use != null)
message.ready_to_use = Boolean(object.ready_to_use);
return message;
};

VolumeGroupSnapshot.toObject = function toObject(message, options, q) {
if (!options)
options = {};
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
let object = {};
if (options.arrays || options.defaults)
object.snapshots = [];
if (options.defaults) {
object.group_snapshot_id = "";
object.creation_time = null;
object.ready_to_use = false;
}
if (message.group_snapshot_id != null && Object.hasOwnProperty.call(message, "group_snapshot_id"))
object.group_snapshot_id = message.group_snapshot_id;
if (message.snapshots && message.snapshots.length) {
object.snapshots = [];
for (let j = 0; j < message.snapshots.length; ++j)
object.snapshots[j] = $root.csi.v1.Snapshot.toObject(message.snapshots[j], options, q + 1);
}
if (message.creation_time != null && Object.hasOwnProperty.call(message, "creation_time"))
object.creation_time = $root.google.protobuf.Timestamp.toObject(message.creation_time, options, q + 1);
if (message.ready_to_use != null && Object.hasOwnProperty.call(message, "ready_to_use"))
object.ready_to_use = message.ready_to_use;
return object;
};

VolumeGroupSnapshot.prototype.toJSON = function toJSON() {
return this.constructor.toObject(this, $protobuf.util.toJSONOptions);
};

return VolumeGroupSnapshot;
})();

v1.DeleteVolumeGroupSnapshotRequest = (function() {

function DeleteVolumeGroupSnapshotRequest(properties) {
this.snapshot_ids = [];
this.secrets = {};
if (properties)
for (let keys = Object.keys(properties), i = 0; i < keys.length; ++i)
if (properties[keys[i]] != null && keys[i] !== "__proto__")
this[keys[i]] = properties[keys[i]];
}

DeleteVolumeGroupSnapshotRequest.prototype.group_snapshot_id = "";
DeleteVolumeGroupSnapshotRequest.prototype.snapshot_ids = $util.emptyArray;
DeleteVolumeGroupSnapshotRequest.prototype.secrets = $util.emptyObject;

DeleteVolumeGroupSnapshotRequest.encode = function encode(message, writer, q) {
if (!writer)
writer = $Writer.create();
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
if (message.group_snapshot_id != null && Object.hasOwnProperty.call(message, "group_snapshot_id"))
writer.uint32(10).string(message.group_snapshot_id);
if (message.snapshot_ids != null && message.snapshot_ids.length)
for (let i = 0; i < message.snapshot_ids.length; ++i)
writer.uint32(18).string(message.snapshot_ids[i]);
if (message.secrets != null && Object.hasOwnProperty.call(message, "secrets"))
for (let keys = Object.keys(message.secrets), i = 0; i < keys.length; ++i)
writer.uint32(26).fork().uint32(10).string(keys[i]).uint32(18).string(message.secrets[keys[i]]).ldelim();
return writer;
};

DeleteVolumeGroupSnapshotRequest.decode = function decode(reader, length, error, long) {
if (!(reader instanceof $Reader))
reader = $Reader.create(reader);
if (long === undefined)
long = 0;
if (long > $Reader.recursionLimit)
throw Error("maximum nesting depth exceeded");
let end, message, key, value;
if (length === undefined)
end = reader.len;
else {
end = reader.pos + length;
if (end > reader.len)
throw RangeError("index out of range");
length = reader.len;
reader.len = end;
}
message = new $root.csi.v1.DeleteVolumeGroupSnapshotRequest();
while (reader.pos < end) {
let tag = reader.uint32();
if (tag === error)
break;
switch (tag >>> 3) {
case 1: {
message.group_snapshot_id = reader.string();
break;
}
case 2: {
if (!(message.snapshot_ids && message.snapshot_ids.length))
message.snapshot_ids = [];
message.snapshot_ids.push(reader.string());
break;
}
case 3: {
if (message.secrets === $util.emptyObject)
message.secrets = {};
let end2 = reader.uint32() + reader.pos;
if (end2 > reader.len)
throw RangeError("index out of range");
reader.len = end2;
key = "";
value = "";
while (reader.pos < end2) {
let tag2 = reader.uint32();
switch (tag2 >>> 3) {
case 1:
key = reader.string();
break;
case 2:
value = reader.string();
break;
default:
reader.skipType(tag2 & 7, long);
break;
}
}
if (reader.pos !== end2)
throw RangeError("index out of range");
reader.len = end;
if (key === "__proto__")
$util.makeProp(message.secrets, key);
message.secrets[key] = value;
break;
}
default:
reader.skipType(tag & 7, long);
break;
}
}
if (length !== undefined) {
if (reader.pos !== end)
throw RangeError("index out of range");
reader.len = length;
}
return message;
};

DeleteVolumeGroupSnapshotRequest.fromObject = function fromObject(object, long) {
if (object instanceof $root.csi.v1.DeleteVolumeGroupSnapshotRequest)
return object;
if (!$util.isObject(object))
throw TypeError(".csi.v1.DeleteVolumeGroupSnapshotRequest: object expected");
if (long === undefined)
long = 0;
if (long > $util.recursionLimit)
throw Error("maximum nesting depth exceeded");
let message = new $root.csi.v1.DeleteVolumeGroupSnapshotRequest();
if (object.group_snapshot_id != null)
message.group_snapshot_id = String(object.group_snapshot_id);
if (object.snapshot_ids) {
if (!Array.isArray(object.snapshot_ids))
throw TypeError(".csi.v1.DeleteVolumeGroupSnapshotRequest.snapshot_ids: array expected");
message.snapshot_ids = [];
for (let i = 0; i < object.snapshot_ids.length; ++i)
message.snapshot_ids[i] = String(object.snapshot_ids[i]);
}
if (object.secrets) {
if (!$util.isObject(object.secrets))
throw TypeError(".csi.v1.DeleteVolumeGroupSnapshotRequest.secrets: object expected");
message.secrets = {};
for (let keys = Object.keys(object.secrets), i = 0; i < keys.length; ++i) {
if (keys[i] === "__proto__")
$util.makeProp(message.secrets, keys[i]);
message.secrets[keys[i]] = String(object.secrets[keys[i]]);
}
}
return message;
};

DeleteVolumeGroupSnapshotRequest.toObject = function toObject(message, options, q) {
if (!options)
options = {};
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
let object = {};
if (options.arrays || options.defaults)
object.snapshot_ids = [];
if (options.objects || options.defaults)
object.secrets = {};
if (options.defaults)
object.group_snapshot_id = "";
if (message.group_snapshot_id != null && Object.hasOwnProperty.call(message, "group_snapshot_id"))
object.group_snapshot_id = message.group_snapshot_id;
if (message.snapshot_ids && message.snapshot_ids.length) {
object.snapshot_ids = [];
for (let j = 0; j < message.snapshot_ids.length; ++j)
object.snapshot_ids[j] = message.snapshot_ids[j];
}
let keys2;
if (message.secrets && (keys2 = Object.keys(message.secrets)).length) {
object.secrets = {};
for (let j = 0; j < keys2.length; ++j) {
if (keys2[j] === "__proto__")
$util.makeProp(object.secrets, keys2[j]);
object.secrets[keys2[j]] = message.secrets[keys2[j]];
}
}
return object;
};

DeleteVolumeGroupSnapshotRequest.prototype.toJSON = function toJSON() {
return this.constructor.toObject(this, $protobuf.util.toJSONOptions);
};

return DeleteVolumeGroupSnapshotRequest;
})();

v1.DeleteVolumeGroupSnapshotResponse = (function() {

function DeleteVolumeGroupSnapshotResponse(properties) {
if (properties)
for (let keys = Object.keys(properties), i = 0; i < keys.length; ++i)
if (properties[keys[i]] != null && keys[i] !== "__proto__")
this[keys[i]] = properties[keys[i]];
}

DeleteVolumeGroupSnapshotResponse.encode = function encode(message, writer, q) {
if (!writer)
writer = $Writer.create();
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
return writer;
};

DeleteVolumeGroupSnapshotResponse.decode = function decode(reader, length, error, long) {
if (!(reader instanceof $Reader))
reader = $Reader.create(reader);
if (long === undefined)
long = 0;
if (long > $Reader.recursionLimit)
throw Error("maximum nesting depth exceeded");
let end, message;
if (length === undefined)
end = reader.len;
else {
end = reader.pos + length;
if (end > reader.len)
throw RangeError("index out of range");
length = reader.len;
reader.len = end;
}
message = new $root.csi.v1.DeleteVolumeGroupSnapshotResponse();
while (reader.pos < end) {
let tag = reader.uint32();
if (tag === error)
break;
switch (tag >>> 3) {
default:
reader.skipType(tag & 7, long);
break;
}
}
if (length !== undefined) {
if (reader.pos !== end)
throw RangeError("index out of range");
reader.len = length;
}
return message;
};

DeleteVolumeGroupSnapshotResponse.fromObject = function fromObject(object, long) {
if (object instanceof $root.csi.v1.DeleteVolumeGroupSnapshotResponse)
return object;
return new $root.csi.v1.DeleteVolumeGroupSnapshotResponse();
};

DeleteVolumeGroupSnapshotResponse.toObject = function toObject() {
return {};
};

DeleteVolumeGroupSnapshotResponse.prototype.toJSON = function toJSON() {
return this.constructor.toObject(this, $protobuf.util.toJSONOptions);
};

return DeleteVolumeGroupSnapshotResponse;
})();

v1.GetVolumeGroupSnapshotRequest = (function() {

function GetVolumeGroupSnapshotRequest(properties) {
this.snapshot_ids = [];
this.secrets = {};
if (properties)
for (let keys = Object.keys(properties), i = 0; i < keys.length; ++i)
if (properties[keys[i]] != null && keys[i] !== "__proto__")
this[keys[i]] = properties[keys[i]];
}

GetVolumeGroupSnapshotRequest.prototype.group_snapshot_id = "";
GetVolumeGroupSnapshotRequest.prototype.snapshot_ids = $util.emptyArray;
GetVolumeGroupSnapshotRequest.prototype.secrets = $util.emptyObject;

GetVolumeGroupSnapshotRequest.encode = function encode(message, writer, q) {
if (!writer)
writer = $Writer.create();
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
if (message.group_snapshot_id != null && Object.hasOwnProperty.call(message, "group_snapshot_id"))
writer.uint32(10).string(message.group_snapshot_id);
if (message.snapshot_ids != null && message.snapshot_ids.length)
for (let i = 0; i < message.snapshot_ids.length; ++i)
writer.uint32(18).string(message.snapshot_ids[i]);
if (message.secrets != null && Object.hasOwnProperty.call(message, "secrets"))
for (let keys = Object.keys(message.secrets), i = 0; i < keys.length; ++i)
writer.uint32(26).fork().uint32(10).string(keys[i]).uint32(18).string(message.secrets[keys[i]]).ldelim();
return writer;
};

GetVolumeGroupSnapshotRequest.decode = function decode(reader, length, error, long) {
if (!(reader instanceof $Reader))
reader = $Reader.create(reader);
if (long === undefined)
long = 0;
if (long > $Reader.recursionLimit)
throw Error("maximum nesting depth exceeded");
let end, message, key, value;
if (length === undefined)
end = reader.len;
else {
end = reader.pos + length;
if (end > reader.len)
throw RangeError("index out of range");
length = reader.len;
reader.len = end;
}
message = new $root.csi.v1.GetVolumeGroupSnapshotRequest();
while (reader.pos < end) {
let tag = reader.uint32();
if (tag === error)
break;
switch (tag >>> 3) {
case 1: {
message.group_snapshot_id = reader.string();
break;
}
case 2: {
if (!(message.snapshot_ids && message.snapshot_ids.length))
message.snapshot_ids = [];
message.snapshot_ids.push(reader.string());
break;
}
case 3: {
if (message.secrets === $util.emptyObject)
message.secrets = {};
let end2 = reader.uint32() + reader.pos;
if (end2 > reader.len)
throw RangeError("index out of range");
reader.len = end2;
key = "";
value = "";
while (reader.pos < end2) {
let tag2 = reader.uint32();
switch (tag2 >>> 3) {
case 1:
key = reader.string();
break;
case 2:
value = reader.string();
break;
default:
reader.skipType(tag2 & 7, long);
break;
}
}
if (reader.pos !== end2)
throw RangeError("index out of range");
reader.len = end;
if (key === "__proto__")
$util.makeProp(message.secrets, key);
message.secrets[key] = value;
break;
}
default:
reader.skipType(tag & 7, long);
break;
}
}
if (length !== undefined) {
if (reader.pos !== end)
throw RangeError("index out of range");
reader.len = length;
}
return message;
};

GetVolumeGroupSnapshotRequest.fromObject = function fromObject(object, long) {
if (object instanceof $root.csi.v1.GetVolumeGroupSnapshotRequest)
return object;
if (!$util.isObject(object))
throw TypeError(".csi.v1.GetVolumeGroupSnapshotRequest: object expected");
if (long === undefined)
long = 0;
if (long > $util.recursionLimit)
throw Error("maximum nesting depth exceeded");
let message = new $root.csi.v1.GetVolumeGroupSnapshotRequest();
if (object.group_snapshot_id != null)
message.group_snapshot_id = String(object.group_snapshot_id);
if (object.snapshot_ids) {
if (!Array.isArray(object.snapshot_ids))
throw TypeError(".csi.v1.GetVolumeGroupSnapshotRequest.snapshot_ids: array expected");
message.snapshot_ids = [];
for (let i = 0; i < object.snapshot_ids.length; ++i)
message.snapshot_ids[i] = String(object.snapshot_ids[i]);
}
if (object.secrets) {
if (!$util.isObject(object.secrets))
throw TypeError(".csi.v1.GetVolumeGroupSnapshotRequest.secrets: object expected");
message.secrets = {};
for (let keys = Object.keys(object.secrets), i = 0; i < keys.length; ++i) {
if (keys[i] === "__proto__")
$util.makeProp(message.secrets, keys[i]);
message.secrets[keys[i]] = String(object.secrets[keys[i]]);
}
}
return message;
};

GetVolumeGroupSnapshotRequest.toObject = function toObject(message, options, q) {
if (!options)
options = {};
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
let object = {};
if (options.arrays || options.defaults)
object.snapshot_ids = [];
if (options.objects || options.defaults)
object.secrets = {};
if (options.defaults)
object.group_snapshot_id = "";
if (message.group_snapshot_id != null && Object.hasOwnProperty.call(message, "group_snapshot_id"))
object.group_snapshot_id = message.group_snapshot_id;
if (message.snapshot_ids && message.snapshot_ids.length) {
object.snapshot_ids = [];
for (let j = 0; j < message.snapshot_ids.length; ++j)
object.snapshot_ids[j] = message.snapshot_ids[j];
}
let keys2;
if (message.secrets && (keys2 = Object.keys(message.secrets)).length) {
object.secrets = {};
for (let j = 0; j < keys2.length; ++j) {
if (keys2[j] === "__proto__")
$util.makeProp(object.secrets, keys2[j]);
object.secrets[keys2[j]] = message.secrets[keys2[j]];
}
}
return object;
};

GetVolumeGroupSnapshotRequest.prototype.toJSON = function toJSON() {
return this.constructor.toObject(this, $protobuf.util.toJSONOptions);
};

return GetVolumeGroupSnapshotRequest;
})();

v1.GetVolumeGroupSnapshotResponse = (function() {

function GetVolumeGroupSnapshotResponse(properties) {
if (properties)
for (let keys = Object.keys(properties), i = 0; i < keys.length; ++i)
if (properties[keys[i]] != null && keys[i] !== "__proto__")
this[keys[i]] = properties[keys[i]];
}

GetVolumeGroupSnapshotResponse.prototype.group_snapshot = null;

GetVolumeGroupSnapshotResponse.encode = function encode(message, writer, q) {
if (!writer)
writer = $Writer.create();
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
if (message.group_snapshot != null && Object.hasOwnProperty.call(message, "group_snapshot"))
$root.csi.v1.VolumeGroupSnapshot.encode(message.group_snapshot, writer.uint32(10).fork(), q + 1).ldelim();
return writer;
};

GetVolumeGroupSnapshotResponse.decode = function decode(reader, length, error, long) {
if (!(reader instanceof $Reader))
reader = $Reader.create(reader);
if (long === undefined)
long = 0;
if (long > $Reader.recursionLimit)
throw Error("maximum nesting depth exceeded");
let end, message;
if (length === undefined)
end = reader.len;
else {
end = reader.pos + length;
if (end > reader.len)
throw RangeError("index out of range");
length = reader.len;
reader.len = end;
}
message = new $root.csi.v1.GetVolumeGroupSnapshotResponse();
while (reader.pos < end) {
let tag = reader.uint32();
if (tag === error)
break;
switch (tag >>> 3) {
case 1: {
message.group_snapshot = $root.csi.v1.VolumeGroupSnapshot.decode(reader, reader.uint32(), undefined, long + 1);
break;
}
default:
reader.skipType(tag & 7, long);
break;
}
}
if (length !== undefined) {
if (reader.pos !== end)
throw RangeError("index out of range");
reader.len = length;
}
return message;
};

GetVolumeGroupSnapshotResponse.fromObject = function fromObject(object, long) {
if (object instanceof $root.csi.v1.GetVolumeGroupSnapshotResponse)
return object;
if (!$util.isObject(object))
throw TypeError(".csi.v1.GetVolumeGroupSnapshotResponse: object expected");
if (long === undefined)
long = 0;
if (long > $util.recursionLimit)
throw Error("maximum nesting depth exceeded");
let message = new $root.csi.v1.GetVolumeGroupSnapshotResponse();
if (object.group_snapshot != null) {
if (!$util.isObject(object.group_snapshot))
throw TypeError(".csi.v1.GetVolumeGroupSnapshotResponse.group_snapshot: object expected");
message.group_snapshot = $root.csi.v1.VolumeGroupSnapshot.fromObject(object.group_snapshot, long + 1);
}
return message;
};

GetVolumeGroupSnapshotResponse.toObject = function toObject(message, options, q) {
if (!options)
options = {};
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
let object = {};
if (options.defaults)
object.group_snapshot = null;
if (message.group_snapshot != null && Object.hasOwnProperty.call(message, "group_snapshot"))
object.group_snapshot = $root.csi.v1.VolumeGroupSnapshot.toObject(message.group_snapshot, options, q + 1);
return object;
};

GetVolumeGroupSnapshotResponse.prototype.toJSON = function toJSON() {
return this.constructor.toObject(this, $protobuf.util.toJSONOptions);
};

return GetVolumeGroupSnapshotResponse;
})();

v1.BlockMetadata = (function() {

function BlockMetadata(properties) {
if (properties)
for (let keys = Object.keys(properties), i = 0; i < keys.length; ++i)
if (properties[keys[i]] != null && keys[i] !== "__proto__")
this[keys[i]] = properties[keys[i]];
}

BlockMetadata.prototype.byte_offset = $util.Long ? $util.Long.fromBits(0,0,false) : 0;
BlockMetadata.prototype.size_bytes = $util.Long ? $util.Long.fromBits(0,0,false) : 0;

BlockMetadata.encode = function encode(message, writer, q) {
if (!writer)
writer = $Writer.create();
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
if (message.byte_offset != null && Object.hasOwnProperty.call(message, "byte_offset"))
writer.uint32(8).int64(message.byte_offset);
if (message.size_bytes != null && Object.hasOwnProperty.call(message, "size_bytes"))
writer.uint32(16).int64(message.size_bytes);
return writer;
};

BlockMetadata.decode = function decode(reader, length, error, long) {
if (!(reader instanceof $Reader))
reader = $Reader.create(reader);
if (long === undefined)
long = 0;
if (long > $Reader.recursionLimit)
throw Error("maximum nesting depth exceeded");
let end, message;
if (length === undefined)
end = reader.len;
else {
end = reader.pos + length;
if (end > reader.len)
throw RangeError("index out of range");
length = reader.len;
reader.len = end;
}
message = new $root.csi.v1.BlockMetadata();
while (reader.pos < end) {
let tag = reader.uint32();
if (tag === error)
break;
switch (tag >>> 3) {
case 1: {
message.byte_offset = reader.int64();
break;
}
case 2: {
message.size_bytes = reader.int64();
break;
}
default:
reader.skipType(tag & 7, long);
break;
}
}
if (length !== undefined) {
if (reader.pos !== end)
throw RangeError("index out of range");
reader.len = length;
}
return message;
};

BlockMetadata.fromObject = function fromObject(object, long) {
if (object instanceof $root.csi.v1.BlockMetadata)
return object;
if (!$util.isObject(object))
throw TypeError(".csi.v1.BlockMetadata: object expected");
if (long === undefined)
long = 0;
if (long > $util.recursionLimit)
throw Error("maximum nesting depth exceeded");
let message = new $root.csi.v1.BlockMetadata();
if (object.byte_offset != null)
if ($util.Long)
message.byte_offset = $util.Long.fromValue(object.byte_offset, false);
else if (typeof object.byte_offset === "string")
message.byte_offset = parseInt(object.byte_offset, 10);
else if (typeof object.byte_offset === "number")
message.byte_offset = object.byte_offset;
else if (typeof object.byte_offset === "object")
message.byte_offset = new $util.LongBits(object.byte_offset.low >>> 0, object.byte_offset.high >>> 0).toNumber();
if (object.size_bytes != null)
if ($util.Long)
message.size_bytes = $util.Long.fromValue(object.size_bytes, false);
else if (typeof object.size_bytes === "string")
message.size_bytes = parseInt(object.size_bytes, 10);
else if (typeof object.size_bytes === "number")
message.size_bytes = object.size_bytes;
else if (typeof object.size_bytes === "object")
message.size_bytes = new $util.LongBits(object.size_bytes.low >>> 0, object.size_bytes.high >>> 0).toNumber();
return message;
};

BlockMetadata.toObject = function toObject(message, options, q) {
if (!options)
options = {};
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
let object = {};
if (options.defaults) {
if ($util.Long) {
let long = new $util.Long(0, 0, false);
object.byte_offset = options.longs === String ? long.toString() : options.longs === Number ? long.toNumber() : typeof BigInt !== "undefined" && options.longs === BigInt ? long.toBigInt() : long;
} else
object.byte_offset = options.longs === String ? "0" : typeof BigInt !== "undefined" && options.longs === BigInt ? BigInt("0") : 0;
if ($util.Long) {
let long = new $util.Long(0, 0, false);
object.size_bytes = options.longs === String ? long.toString() : options.longs === Number ? long.toNumber() : typeof BigInt !== "undefined" && options.longs === BigInt ? long.toBigInt() : long;
} else
object.size_bytes = options.longs === String ? "0" : typeof BigInt !== "undefined" && options.longs === BigInt ? BigInt("0") : 0;
}
if (message.byte_offset != null && Object.hasOwnProperty.call(message, "byte_offset"))
if (typeof BigInt !== "undefined" && options.longs === BigInt)
object.byte_offset = typeof message.byte_offset === "number" ? BigInt(message.byte_offset) : $util.Long.fromBits(message.byte_offset.low >>> 0, message.byte_offset.high >>> 0, false).toBigInt();
else if (typeof message.byte_offset === "number")
object.byte_offset = options.longs === String ? String(message.byte_offset) : message.byte_offset;
else
object.byte_offset = options.longs === String ? $util.Long.prototype.toString.call(message.byte_offset) : options.longs === Number ? new $util.LongBits(message.byte_offset.low >>> 0, message.byte_offset.high >>> 0).toNumber() : message.byte_offset;
if (message.size_bytes != null && Object.hasOwnProperty.call(message, "size_bytes"))
if (typeof BigInt !== "undefined" && options.longs === BigInt)
object.size_bytes = typeof message.size_bytes === "number" ? BigInt(message.size_bytes) : $util.Long.fromBits(message.size_bytes.low >>> 0, message.size_bytes.high >>> 0, false).toBigInt();
else if (typeof message.size_bytes === "number")
object.size_bytes = options.longs === String ? String(message.size_bytes) : message.size_bytes;
else
object.size_bytes = options.longs === String ? $util.Long.prototype.toString.call(message.size_bytes) : options.longs === Number ? new $util.LongBits(message.size_bytes.low >>> 0, message.size_bytes.high >>> 0).toNumber() : message.size_bytes;
return object;
};

BlockMetadata.prototype.toJSON = function toJSON() {
return this.constructor.toObject(this, $protobuf.util.toJSONOptions);
};

return BlockMetadata;
})();

v1.BlockMetadataType = (function() {
const valuesById = {}, values = Object.create(valuesById);
values[valuesById[0] = "UNKNOWN"] = 0;
values[valuesById[1] = "FIXED_LENGTH"] = 1;
values[valuesById[2] = "VARIABLE_LENGTH"] = 2;
return values;
})();

v1.GetMetadataAllocatedRequest = (function() {

function GetMetadataAllocatedRequest(properties) {
this.secrets = {};
if (properties)
for (let keys = Object.keys(properties), i = 0; i < keys.length; ++i)
if (properties[keys[i]] != null && keys[i] !== "__proto__")
this[keys[i]] = properties[keys[i]];
}

GetMetadataAllocatedRequest.prototype.snapshot_id = "";
GetMetadataAllocatedRequest.prototype.starting_offset = $util.Long ? $util.Long.fromBits(0,0,false) : 0;
GetMetadataAllocatedRequest.prototype.max_results = 0;
GetMetadataAllocatedRequest.prototype.secrets = $util.emptyObject;

GetMetadataAllocatedRequest.encode = function encode(message, writer, q) {
if (!writer)
writer = $Writer.create();
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
if (message.snapshot_id != null && Object.hasOwnProperty.call(message, "snapshot_id"))
writer.uint32(10).string(message.snapshot_id);
if (message.starting_offset != null && Object.hasOwnProperty.call(message, "starting_offset"))
writer.uint32(16).int64(message.starting_offset);
if (message.max_results != null && Object.hasOwnProperty.call(message, "max_results"))
writer.uint32(24).int32(message.max_results);
if (message.secrets != null && Object.hasOwnProperty.call(message, "secrets"))
for (let keys = Object.keys(message.secrets), i = 0; i < keys.length; ++i)
writer.uint32(34).fork().uint32(10).string(keys[i]).uint32(18).string(message.secrets[keys[i]]).ldelim();
return writer;
};

GetMetadataAllocatedRequest.decode = function decode(reader, length, error, long) {
if (!(reader instanceof $Reader))
reader = $Reader.create(reader);
if (long === undefined)
long = 0;
if (long > $Reader.recursionLimit)
throw Error("maximum nesting depth exceeded");
let end, message, key, value;
if (length === undefined)
end = reader.len;
else {
end = reader.pos + length;
if (end > reader.len)
throw RangeError("index out of range");
length = reader.len;
reader.len = end;
}
message = new $root.csi.v1.GetMetadataAllocatedRequest();
while (reader.pos < end) {
let tag = reader.uint32();
if (tag === error)
break;
switch (tag >>> 3) {
case 1: {
message.snapshot_id = reader.string();
break;
}
case 2: {
message.starting_offset = reader.int64();
break;
}
case 3: {
message.max_results = reader.int32();
break;
}
case 4: {
if (message.secrets === $util.emptyObject)
message.secrets = {};
let end2 = reader.uint32() + reader.pos;
if (end2 > reader.len)
throw RangeError("index out of range");
reader.len = end2;
key = "";
value = "";
while (reader.pos < end2) {
let tag2 = reader.uint32();
switch (tag2 >>> 3) {
case 1:
key = reader.string();
break;
case 2:
value = reader.string();
break;
default:
reader.skipType(tag2 & 7, long);
break;
}
}
if (reader.pos !== end2)
throw RangeError("index out of range");
reader.len = end;
if (key === "__proto__")
$util.makeProp(message.secrets, key);
message.secrets[key] = value;
break;
}
default:
reader.skipType(tag & 7, long);
break;
}
}
if (length !== undefined) {
if (reader.pos !== end)
throw RangeError("index out of range");
reader.len = length;
}
return message;
};

GetMetadataAllocatedRequest.fromObject = function fromObject(object, long) {
if (object instanceof $root.csi.v1.GetMetadataAllocatedRequest)
return object;
if (!$util.isObject(object))
throw TypeError(".csi.v1.GetMetadataAllocatedRequest: object expected");
if (long === undefined)
long = 0;
if (long > $util.recursionLimit)
throw Error("maximum nesting depth exceeded");
let message = new $root.csi.v1.GetMetadataAllocatedRequest();
if (object.snapshot_id != null)
message.snapshot_id = String(object.snapshot_id);
if (object.starting_offset != null)
if ($util.Long)
message.starting_offset = $util.Long.fromValue(object.starting_offset, false);
else if (typeof object.starting_offset === "string")
message.starting_offset = parseInt(object.starting_offset, 10);
else if (typeof object.starting_offset === "number")
message.starting_offset = object.starting_offset;
else if (typeof object.starting_offset === "object")
message.starting_offset = new $util.LongBits(object.starting_offset.low >>> 0, object.starting_offset.high >>> 0).toNumber();
if (object.max_results != null)
message.max_results = object.max_results | 0;
if (object.secrets) {
if (!$util.isObject(object.secrets))
throw TypeError(".csi.v1.GetMetadataAllocatedRequest.secrets: object expected");
message.secrets = {};
for (let keys = Object.keys(object.secrets), i = 0; i < keys.length; ++i) {
if (keys[i] === "__proto__")
$util.makeProp(message.secrets, keys[i]);
message.secrets[keys[i]] = String(object.secrets[keys[i]]);
}
}
return message;
};

GetMetadataAllocatedRequest.toObject = function toObject(message, options, q) {
if (!options)
options = {};
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
let object = {};
if (options.objects || options.defaults)
object.secrets = {};
if (options.defaults) {
object.snapshot_id = "";
if ($util.Long) {
let long = new $util.Long(0, 0, false);
object.starting_offset = options.longs === String ? long.toString() : options.longs === Number ? long.toNumber() : typeof BigInt !== "undefined" && options.longs === BigInt ? long.toBigInt() : long;
} else
object.starting_offset = options.longs === String ? "0" : typeof BigInt !== "undefined" && options.longs === BigInt ? BigInt("0") : 0;
object.max_results = 0;
}
if (message.snapshot_id != null && Object.hasOwnProperty.call(message, "snapshot_id"))
object.snapshot_id = message.snapshot_id;
if (message.starting_offset != null && Object.hasOwnProperty.call(message, "starting_offset"))
if (typeof BigInt !== "undefined" && options.longs === BigInt)
object.starting_offset = typeof message.starting_offset === "number" ? BigInt(message.starting_offset) : $util.Long.fromBits(message.starting_offset.low >>> 0, message.starting_offset.high >>> 0, false).toBigInt();
else if (typeof message.starting_offset === "number")
object.starting_offset = options.longs === String ? String(message.starting_offset) : message.starting_offset;
else
object.starting_offset = options.longs === String ? $util.Long.prototype.toString.call(message.starting_offset) : options.longs === Number ? new $util.LongBits(message.starting_offset.low >>> 0, message.starting_offset.high >>> 0).toNumber() : message.starting_offset;
if (message.max_results != null && Object.hasOwnProperty.call(message, "max_results"))
object.max_results = message.max_results;
let keys2;
if (message.secrets && (keys2 = Object.keys(message.secrets)).length) {
object.secrets = {};
for (let j = 0; j < keys2.length; ++j) {
if (keys2[j] === "__proto__")
$util.makeProp(object.secrets, keys2[j]);
object.secrets[keys2[j]] = message.secrets[keys2[j]];
}
}
return object;
};

GetMetadataAllocatedRequest.prototype.toJSON = function toJSON() {
return this.constructor.toObject(this, $protobuf.util.toJSONOptions);
};

return GetMetadataAllocatedRequest;
})();

v1.GetMetadataAllocatedResponse = (function() {

function GetMetadataAllocatedResponse(properties) {
this.block_metadata = [];
if (properties)
for (let keys = Object.keys(properties), i = 0; i < keys.length; ++i)
if (properties[keys[i]] != null && keys[i] !== "__proto__")
this[keys[i]] = properties[keys[i]];
}

GetMetadataAllocatedResponse.prototype.block_metadata_type = 0;
GetMetadataAllocatedResponse.prototype.volume_capacity_bytes = $util.Long ? $util.Long.fromBits(0,0,false) : 0;
GetMetadataAllocatedResponse.prototype.block_metadata = $util.emptyArray;

GetMetadataAllocatedResponse.encode = function encode(message, writer, q) {
if (!writer)
writer = $Writer.create();
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
if (message.block_metadata_type != null && Object.hasOwnProperty.call(message, "block_metadata_type"))
writer.uint32(8).int32(message.block_metadata_type);
if (message.volume_capacity_bytes != null && Object.hasOwnProperty.call(message, "volume_capacity_bytes"))
writer.uint32(16).int64(message.volume_capacity_bytes);
if (message.block_metadata != null && message.block_metadata.length)
for (let i = 0; i < message.block_metadata.length; ++i)
$root.csi.v1.BlockMetadata.encode(message.block_metadata[i], writer.uint32(26).fork(), q + 1).ldelim();
return writer;
};

GetMetadataAllocatedResponse.decode = function decode(reader, length, error, long) {
if (!(reader instanceof $Reader))
reader = $Reader.create(reader);
if (long === undefined)
long = 0;
if (long > $Reader.recursionLimit)
throw Error("maximum nesting depth exceeded");
let end, message;
if (length === undefined)
end = reader.len;
else {
end = reader.pos + length;
if (end > reader.len)
throw RangeError("index out of range");
length = reader.len;
reader.len = end;
}
message = new $root.csi.v1.GetMetadataAllocatedResponse();
while (reader.pos < end) {
let tag = reader.uint32();
if (tag === error)
break;
switch (tag >>> 3) {
case 1: {
message.block_metadata_type = reader.int32();
break;
}
case 2: {
message.volume_capacity_bytes = reader.int64();
break;
}
case 3: {
if (!(message.block_metadata && message.block_metadata.length))
message.block_metadata = [];
message.block_metadata.push($root.csi.v1.BlockMetadata.decode(reader, reader.uint32(), undefined, long + 1));
break;
}
default:
reader.skipType(tag & 7, long);
break;
}
}
if (length !== undefined) {
if (reader.pos !== end)
throw RangeError("index out of range");
reader.len = length;
}
return message;
};

GetMetadataAllocatedResponse.fromObject = function fromObject(object, long) {
if (object instanceof $root.csi.v1.GetMetadataAllocatedResponse)
return object;
if (!$util.isObject(object))
throw TypeError(".csi.v1.GetMetadataAllocatedResponse: object expected");
if (long === undefined)
long = 0;
if (long > $util.recursionLimit)
throw Error("maximum nesting depth exceeded");
let message = new $root.csi.v1.GetMetadataAllocatedResponse();
switch (object.block_metadata_type) {
default:
if (typeof object.block_metadata_type === "number") {
message.block_metadata_type = object.block_metadata_type;
break;
}
break;
case "UNKNOWN":
case 0:
message.block_metadata_type = 0;
break;
case "FIXED_LENGTH":
case 1:
message.block_metadata_type = 1;
break;
case "VARIABLE_LENGTH":
case 2:
message.block_metadata_type = 2;
break;
}
if (object.volume_capacity_bytes != null)
if ($util.Long)
message.volume_capacity_bytes = $util.Long.fromValue(object.volume_capacity_bytes, false);
else if (typeof object.volume_capacity_bytes === "string")
message.volume_capacity_bytes = parseInt(object.volume_capacity_bytes, 10);
else if (typeof object.volume_capacity_bytes === "number")
message.volume_capacity_bytes = object.volume_capacity_bytes;
else if (typeof object.volume_capacity_bytes === "object")
message.volume_capacity_bytes = new $util.LongBits(object.volume_capacity_bytes.low >>> 0, object.volume_capacity_bytes.high >>> 0).toNumber();
if (object.block_metadata) {
if (!Array.isArray(object.block_metadata))
throw TypeError(".csi.v1.GetMetadataAllocatedResponse.block_metadata: array expected");
message.block_metadata = [];
for (let i = 0; i < object.block_metadata.length; ++i) {
if (!$util.isObject(object.block_metadata[i]))
throw TypeError(".csi.v1.GetMetadataAllocatedResponse.block_metadata: object expected");
message.block_metadata[i] = $root.csi.v1.BlockMetadata.fromObject(object.block_metadata[i], long + 1);
}
}
return message;
};

GetMetadataAllocatedResponse.toObject = function toObject(message, options, q) {
if (!options)
options = {};
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
let object = {};
if (options.arrays || options.defaults)
object.block_metadata = [];
if (options.defaults) {
object.block_metadata_type = options.enums === String ? "UNKNOWN" : 0;
if ($util.Long) {
let long = new $util.Long(0, 0, false);
object.volume_capacity_bytes = options.longs === String ? long.toString() : options.longs === Number ? long.toNumber() : typeof BigInt !== "undefined" && options.longs === BigInt ? long.toBigInt() : long;
} else
object.volume_capacity_bytes = options.longs === String ? "0" : typeof BigInt !== "undefined" && options.longs === BigInt ? BigInt("0") : 0;
}
if (message.block_metadata_type != null && Object.hasOwnProperty.call(message, "block_metadata_type"))
object.block_metadata_type = options.enums === String ? $root.csi.v1.BlockMetadataType[message.block_metadata_type] === undefined ? message.block_metadata_type : $root.csi.v1.BlockMetadataType[message.block_metadata_type] : message.block_metadata_type;
if (message.volume_capacity_bytes != null && Object.hasOwnProperty.call(message, "volume_capacity_bytes"))
if (typeof BigInt !== "undefined" && options.longs === BigInt)
object.volume_capacity_bytes = typeof message.volume_capacity_bytes === "number" ? BigInt(message.volume_capacity_bytes) : $util.Long.fromBits(message.volume_capacity_bytes.low >>> 0, message.volume_capacity_bytes.high >>> 0, false).toBigInt();
else if (typeof message.volume_capacity_bytes === "number")
object.volume_capacity_bytes = options.longs === String ? String(message.volume_capacity_bytes) : message.volume_capacity_bytes;
else
object.volume_capacity_bytes = options.longs === String ? $util.Long.prototype.toString.call(message.volume_capacity_bytes) : options.longs === Number ? new $util.LongBits(message.volume_capacity_bytes.low >>> 0, message.volume_capacity_bytes.high >>> 0).toNumber() : message.volume_capacity_bytes;
if (message.block_metadata && message.block_metadata.length) {
object.block_metadata = [];
for (let j = 0; j < message.block_metadata.length; ++j)
object.block_metadata[j] = $root.csi.v1.BlockMetadata.toObject(message.block_metadata[j], options, q + 1);
}
return object;
};

GetMetadataAllocatedResponse.prototype.toJSON = function toJSON() {
return this.constructor.toObject(this, $protobuf.util.toJSONOptions);
};

return GetMetadataAllocatedResponse;
})();

v1.GetMetadataDeltaRequest = (function() {

function GetMetadataDeltaRequest(properties) {
this.secrets = {};
if (properties)
for (let keys = Object.keys(properties), i = 0; i < keys.length; ++i)
if (properties[keys[i]] != null && keys[i] !== "__proto__")
this[keys[i]] = properties[keys[i]];
}

GetMetadataDeltaRequest.prototype.base_snapshot_id = "";
GetMetadataDeltaRequest.prototype.target_snapshot_id = "";
GetMetadataDeltaRequest.prototype.starting_offset = $util.Long ? $util.Long.fromBits(0,0,false) : 0;
GetMetadataDeltaRequest.prototype.max_results = 0;
GetMetadataDeltaRequest.prototype.secrets = $util.emptyObject;

GetMetadataDeltaRequest.encode = function encode(message, writer, q) {
if (!writer)
writer = $Writer.create();
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
if (message.base_snapshot_id != null && Object.hasOwnProperty.call(message, "base_snapshot_id"))
writer.uint32(10).string(message.base_snapshot_id);
if (message.target_snapshot_id != null && Object.hasOwnProperty.call(message, "target_snapshot_id"))
writer.uint32(18).string(message.target_snapshot_id);
if (message.starting_offset != null && Object.hasOwnProperty.call(message, "starting_offset"))
writer.uint32(24).int64(message.starting_offset);
if (message.max_results != null && Object.hasOwnProperty.call(message, "max_results"))
writer.uint32(32).int32(message.max_results);
if (message.secrets != null && Object.hasOwnProperty.call(message, "secrets"))
for (let keys = Object.keys(message.secrets), i = 0; i < keys.length; ++i)
writer.uint32(42).fork().uint32(10).string(keys[i]).uint32(18).string(message.secrets[keys[i]]).ldelim();
return writer;
};

GetMetadataDeltaRequest.decode = function decode(reader, length, error, long) {
if (!(reader instanceof $Reader))
reader = $Reader.create(reader);
if (long === undefined)
long = 0;
if (long > $Reader.recursionLimit)
throw Error("maximum nesting depth exceeded");
let end, message, key, value;
if (length === undefined)
end = reader.len;
else {
end = reader.pos + length;
if (end > reader.len)
throw RangeError("index out of range");
length = reader.len;
reader.len = end;
}
message = new $root.csi.v1.GetMetadataDeltaRequest();
while (reader.pos < end) {
let tag = reader.uint32();
if (tag === error)
break;
switch (tag >>> 3) {
case 1: {
message.base_snapshot_id = reader.string();
break;
}
case 2: {
message.target_snapshot_id = reader.string();
break;
}
case 3: {
message.starting_offset = reader.int64();
break;
}
case 4: {
message.max_results = reader.int32();
break;
}
case 5: {
if (message.secrets === $util.emptyObject)
message.secrets = {};
let end2 = reader.uint32() + reader.pos;
if (end2 > reader.len)
throw RangeError("index out of range");
reader.len = end2;
key = "";
value = "";
while (reader.pos < end2) {
let tag2 = reader.uint32();
switch (tag2 >>> 3) {
case 1:
key = reader.string();
break;
case 2:
value = reader.string();
break;
default:
reader.skipType(tag2 & 7, long);
break;
}
}
if (reader.pos !== end2)
throw RangeError("index out of range");
reader.len = end;
if (key === "__proto__")
$util.makeProp(message.secrets, key);
message.secrets[key] = value;
break;
}
default:
reader.skipType(tag & 7, long);
break;
}
}
if (length !== undefined) {
if (reader.pos !== end)
throw RangeError("index out of range");
reader.len = length;
}
return message;
};

GetMetadataDeltaRequest.fromObject = function fromObject(object, long) {
if (object instanceof $root.csi.v1.GetMetadataDeltaRequest)
return object;
if (!$util.isObject(object))
throw TypeError(".csi.v1.GetMetadataDeltaRequest: object expected");
if (long === undefined)
long = 0;
if (long > $util.recursionLimit)
throw Error("maximum nesting depth exceeded");
let message = new $root.csi.v1.GetMetadataDeltaRequest();
if (object.base_snapshot_id != null)
message.base_snapshot_id = String(object.base_snapshot_id);
if (object.target_snapshot_id != null)
message.target_snapshot_id = String(object.target_snapshot_id);
if (object.starting_offset != null)
if ($util.Long)
message.starting_offset = $util.Long.fromValue(object.starting_offset, false);
else if (typeof object.starting_offset === "string")
message.starting_offset = parseInt(object.starting_offset, 10);
else if (typeof object.starting_offset === "number")
message.starting_offset = object.starting_offset;
else if (typeof object.starting_offset === "object")
message.starting_offset = new $util.LongBits(object.starting_offset.low >>> 0, object.starting_offset.high >>> 0).toNumber();
if (object.max_results != null)
message.max_results = object.max_results | 0;
if (object.secrets) {
if (!$util.isObject(object.secrets))
throw TypeError(".csi.v1.GetMetadataDeltaRequest.secrets: object expected");
message.secrets = {};
for (let keys = Object.keys(object.secrets), i = 0; i < keys.length; ++i) {
if (keys[i] === "__proto__")
$util.makeProp(message.secrets, keys[i]);
message.secrets[keys[i]] = String(object.secrets[keys[i]]);
}
}
return message;
};

GetMetadataDeltaRequest.toObject = function toObject(message, options, q) {
if (!options)
options = {};
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
let object = {};
if (options.objects || options.defaults)
object.secrets = {};
if (options.defaults) {
object.base_snapshot_id = "";
object.target_snapshot_id = "";
if ($util.Long) {
let long = new $util.Long(0, 0, false);
object.starting_offset = options.longs === String ? long.toString() : options.longs === Number ? long.toNumber() : typeof BigInt !== "undefined" && options.longs === BigInt ? long.toBigInt() : long;
} else
object.starting_offset = options.longs === String ? "0" : typeof BigInt !== "undefined" && options.longs === BigInt ? BigInt("0") : 0;
object.max_results = 0;
}
if (message.base_snapshot_id != null && Object.hasOwnProperty.call(message, "base_snapshot_id"))
object.base_snapshot_id = message.base_snapshot_id;
if (message.target_snapshot_id != null && Object.hasOwnProperty.call(message, "target_snapshot_id"))
object.target_snapshot_id = message.target_snapshot_id;
if (message.starting_offset != null && Object.hasOwnProperty.call(message, "starting_offset"))
if (typeof BigInt !== "undefined" && options.longs === BigInt)
object.starting_offset = typeof message.starting_offset === "number" ? BigInt(message.starting_offset) : $util.Long.fromBits(message.starting_offset.low >>> 0, message.starting_offset.high >>> 0, false).toBigInt();
else if (typeof message.starting_offset === "number")
object.starting_offset = options.longs === String ? String(message.starting_offset) : message.starting_offset;
else
object.starting_offset = options.longs === String ? $util.Long.prototype.toString.call(message.starting_offset) : options.longs === Number ? new $util.LongBits(message.starting_offset.low >>> 0, message.starting_offset.high >>> 0).toNumber() : message.starting_offset;
if (message.max_results != null && Object.hasOwnProperty.call(message, "max_results"))
object.max_results = message.max_results;
let keys2;
if (message.secrets && (keys2 = Object.keys(message.secrets)).length) {
object.secrets = {};
for (let j = 0; j < keys2.length; ++j) {
if (keys2[j] === "__proto__")
$util.makeProp(object.secrets, keys2[j]);
object.secrets[keys2[j]] = message.secrets[keys2[j]];
}
}
return object;
};

GetMetadataDeltaRequest.prototype.toJSON = function toJSON() {
return this.constructor.toObject(this, $protobuf.util.toJSONOptions);
};

return GetMetadataDeltaRequest;
})();

v1.GetMetadataDeltaResponse = (function() {

function GetMetadataDeltaResponse(properties) {
this.block_metadata = [];
if (properties)
for (let keys = Object.keys(properties), i = 0; i < keys.length; ++i)
if (properties[keys[i]] != null && keys[i] !== "__proto__")
this[keys[i]] = properties[keys[i]];
}

GetMetadataDeltaResponse.prototype.block_metadata_type = 0;
GetMetadataDeltaResponse.prototype.volume_capacity_bytes = $util.Long ? $util.Long.fromBits(0,0,false) : 0;
GetMetadataDeltaResponse.prototype.block_metadata = $util.emptyArray;

GetMetadataDeltaResponse.encode = function encode(message, writer, q) {
if (!writer)
writer = $Writer.create();
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
if (message.block_metadata_type != null && Object.hasOwnProperty.call(message, "block_metadata_type"))
writer.uint32(8).int32(message.block_metadata_type);
if (message.volume_capacity_bytes != null && Object.hasOwnProperty.call(message, "volume_capacity_bytes"))
writer.uint32(16).int64(message.volume_capacity_bytes);
if (message.block_metadata != null && message.block_metadata.length)
for (let i = 0; i < message.block_metadata.length; ++i)
$root.csi.v1.BlockMetadata.encode(message.block_metadata[i], writer.uint32(26).fork(), q + 1).ldelim();
return writer;
};

GetMetadataDeltaResponse.decode = function decode(reader, length, error, long) {
if (!(reader instanceof $Reader))
reader = $Reader.create(reader);
if (long === undefined)
long = 0;
if (long > $Reader.recursionLimit)
throw Error("maximum nesting depth exceeded");
let end, message;
if (length === undefined)
end = reader.len;
else {
end = reader.pos + length;
if (end > reader.len)
throw RangeError("index out of range");
length = reader.len;
reader.len = end;
}
message = new $root.csi.v1.GetMetadataDeltaResponse();
while (reader.pos < end) {
let tag = reader.uint32();
if (tag === error)
break;
switch (tag >>> 3) {
case 1: {
message.block_metadata_type = reader.int32();
break;
}
case 2: {
message.volume_capacity_bytes = reader.int64();
break;
}
case 3: {
if (!(message.block_metadata && message.block_metadata.length))
message.block_metadata = [];
message.block_metadata.push($root.csi.v1.BlockMetadata.decode(reader, reader.uint32(), undefined, long + 1));
break;
}
default:
reader.skipType(tag & 7, long);
break;
}
}
if (length !== undefined) {
if (reader.pos !== end)
throw RangeError("index out of range");
reader.len = length;
}
return message;
};

GetMetadataDeltaResponse.fromObject = function fromObject(object, long) {
if (object instanceof $root.csi.v1.GetMetadataDeltaResponse)
return object;
if (!$util.isObject(object))
throw TypeError(".csi.v1.GetMetadataDeltaResponse: object expected");
if (long === undefined)
long = 0;
if (long > $util.recursionLimit)
throw Error("maximum nesting depth exceeded");
let message = new $root.csi.v1.GetMetadataDeltaResponse();
switch (object.block_metadata_type) {
default:
if (typeof object.block_metadata_type === "number") {
message.block_metadata_type = object.block_metadata_type;
break;
}
break;
case "UNKNOWN":
case 0:
message.block_metadata_type = 0;
break;
case "FIXED_LENGTH":
case 1:
message.block_metadata_type = 1;
break;
case "VARIABLE_LENGTH":
case 2:
message.block_metadata_type = 2;
break;
}
if (object.volume_capacity_bytes != null)
if ($util.Long)
message.volume_capacity_bytes = $util.Long.fromValue(object.volume_capacity_bytes, false);
else if (typeof object.volume_capacity_bytes === "string")
message.volume_capacity_bytes = parseInt(object.volume_capacity_bytes, 10);
else if (typeof object.volume_capacity_bytes === "number")
message.volume_capacity_bytes = object.volume_capacity_bytes;
else if (typeof object.volume_capacity_bytes === "object")
message.volume_capacity_bytes = new $util.LongBits(object.volume_capacity_bytes.low >>> 0, object.volume_capacity_bytes.high >>> 0).toNumber();
if (object.block_metadata) {
if (!Array.isArray(object.block_metadata))
throw TypeError(".csi.v1.GetMetadataDeltaResponse.block_metadata: array expected");
message.block_metadata = [];
for (let i = 0; i < object.block_metadata.length; ++i) {
if (!$util.isObject(object.block_metadata[i]))
throw TypeError(".csi.v1.GetMetadataDeltaResponse.block_metadata: object expected");
message.block_metadata[i] = $root.csi.v1.BlockMetadata.fromObject(object.block_metadata[i], long + 1);
}
}
return message;
};

GetMetadataDeltaResponse.toObject = function toObject(message, options, q) {
if (!options)
options = {};
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
let object = {};
if (options.arrays || options.defaults)
object.block_metadata = [];
if (options.defaults) {
object.block_metadata_type = options.enums === String ? "UNKNOWN" : 0;
if ($util.Long) {
let long = new $util.Long(0, 0, false);
object.volume_capacity_bytes = options.longs === String ? long.toString() : options.longs === Number ? long.toNumber() : typeof BigInt !== "undefined" && options.longs === BigInt ? long.toBigInt() : long;
} else
object.volume_capacity_bytes = options.longs === String ? "0" : typeof BigInt !== "undefined" && options.longs === BigInt ? BigInt("0") : 0;
}
if (message.block_metadata_type != null && Object.hasOwnProperty.call(message, "block_metadata_type"))
object.block_metadata_type = options.enums === String ? $root.csi.v1.BlockMetadataType[message.block_metadata_type] === undefined ? message.block_metadata_type : $root.csi.v1.BlockMetadataType[message.block_metadata_type] : message.block_metadata_type;
if (message.volume_capacity_bytes != null && Object.hasOwnProperty.call(message, "volume_capacity_bytes"))
if (typeof BigInt !== "undefined" && options.longs === BigInt)
object.volume_capacity_bytes = typeof message.volume_capacity_bytes === "number" ? BigInt(message.volume_capacity_bytes) : $util.Long.fromBits(message.volume_capacity_bytes.low >>> 0, message.volume_capacity_bytes.high >>> 0, false).toBigInt();
else if (typeof message.volume_capacity_bytes === "number")
object.volume_capacity_bytes = options.longs === String ? String(message.volume_capacity_bytes) : message.volume_capacity_bytes;
else
object.volume_capacity_bytes = options.longs === String ? $util.Long.prototype.toString.call(message.volume_capacity_bytes) : options.longs === Number ? new $util.LongBits(message.volume_capacity_bytes.low >>> 0, message.volume_capacity_bytes.high >>> 0).toNumber() : message.volume_capacity_bytes;
if (message.block_metadata && message.block_metadata.length) {
object.block_metadata = [];
for (let j = 0; j < message.block_metadata.length; ++j)
object.block_metadata[j] = $root.csi.v1.BlockMetadata.toObject(message.block_metadata[j], options, q + 1);
}
return object;
};

GetMetadataDeltaResponse.prototype.toJSON = function toJSON() {
return this.constructor.toObject(this, $protobuf.util.toJSONOptions);
};

return GetMetadataDeltaResponse;
})();

v1.NodeStageVolumeRequest = (function() {

function NodeStageVolumeRequest(properties) {
this.publish_context = {};
this.secrets = {};
this.volume_context = {};
if (properties)
for (let keys = Object.keys(properties), i = 0; i < keys.length; ++i)
if (properties[keys[i]] != null && keys[i] !== "__proto__")
this[keys[i]] = properties[keys[i]];
}

NodeStageVolumeRequest.prototype.volume_id = "";
NodeStageVolumeRequest.prototype.publish_context = $util.emptyObject;
NodeStageVolumeRequest.prototype.staging_target_path = "";
NodeStageVolumeRequest.prototype.volume_capability = null;
NodeStageVolumeRequest.prototype.secrets = $util.emptyObject;
NodeStageVolumeRequest.prototype.volume_context = $util.emptyObject;

NodeStageVolumeRequest.encode = function encode(message, writer, q) {
if (!writer)
writer = $Writer.create();
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
if (message.volume_id != null && Object.hasOwnProperty.call(message, "volume_id"))
writer.uint32(10).string(message.volume_id);
if (message.publish_context != null && Object.hasOwnProperty.call(message, "publish_context"))
for (let keys = Object.keys(message.publish_context), i = 0; i < keys.length; ++i)
writer.uint32(18).fork().uint32(10).string(keys[i]).uint32(18).string(message.publish_context[keys[i]]).ldelim();
if (message.staging_target_path != null && Object.hasOwnProperty.call(message, "staging_target_path"))
writer.uint32(26).string(message.staging_target_path);
if (message.volume_capability != null && Object.hasOwnProperty.call(message, "volume_capability"))
$root.csi.v1.VolumeCapability.encode(message.volume_capability, writer.uint32(34).fork(), q + 1).ldelim();
if (message.secrets != null && Object.hasOwnProperty.call(message, "secrets"))
for (let keys = Object.keys(message.secrets), i = 0; i < keys.length; ++i)
writer.uint32(42).fork().uint32(10).string(keys[i]).uint32(18).string(message.secrets[keys[i]]).ldelim();
if (message.volume_context != null && Object.hasOwnProperty.call(message, "volume_context"))
for (let keys = Object.keys(message.volume_context), i = 0; i < keys.length; ++i)
writer.uint32(50).fork().uint32(10).string(keys[i]).uint32(18).string(message.volume_context[keys[i]]).ldelim();
return writer;
};

NodeStageVolumeRequest.decode = function decode(reader, length, error, long) {
if (!(reader instanceof $Reader))
reader = $Reader.create(reader);
if (long === undefined)
long = 0;
if (long > $Reader.recursionLimit)
throw Error("maximum nesting depth exceeded");
let end, message, key, value;
if (length === undefined)
end = reader.len;
else {
end = reader.pos + length;
if (end > reader.len)
throw RangeError("index out of range");
length = reader.len;
reader.len = end;
}
message = new $root.csi.v1.NodeStageVolumeRequest();
while (reader.pos < end) {
let tag = reader.uint32();
if (tag === error)
break;
switch (tag >>> 3) {
case 1: {
message.volume_id = reader.string();
break;
}
case 2: {
if (message.publish_context === $util.emptyObject)
message.publish_context = {};
let end2 = reader.uint32() + reader.pos;
if (end2 > reader.len)
throw RangeError("index out of range");
reader.len = end2;
key = "";
value = "";
while (reader.pos < end2) {
let tag2 = reader.uint32();
switch (tag2 >>> 3) {
case 1:
key = reader.string();
break;
case 2:
value = reader.string();
break;
default:
reader.skipType(tag2 & 7, long);
break;
}
}
if (reader.pos !== end2)
throw RangeError("index out of range");
reader.len = end;
if (key === "__proto__")
$util.makeProp(message.publish_context, key);
message.publish_context[key] = value;
break;
}
case 3: {
message.staging_target_path = reader.string();
break;
}
case 4: {
message.volume_capability = $root.csi.v1.VolumeCapability.decode(reader, reader.uint32(), undefined, long + 1);
break;
}
case 5: {
if (message.secrets === $util.emptyObject)
message.secrets = {};
let end2 = reader.uint32() + reader.pos;
if (end2 > reader.len)
throw RangeError("index out of range");
reader.len = end2;
key = "";
value = "";
while (reader.pos < end2) {
let tag2 = reader.uint32();
switch (tag2 >>> 3) {
case 1:
key = reader.string();
break;
case 2:
value = reader.string();
break;
default:
reader.skipType(tag2 & 7, long);
break;
}
}
if (reader.pos !== end2)
throw RangeError("index out of range");
reader.len = end;
if (key === "__proto__")
$util.makeProp(message.secrets, key);
message.secrets[key] = value;
break;
}
case 6: {
if (message.volume_context === $util.emptyObject)
message.volume_context = {};
let end2 = reader.uint32() + reader.pos;
if (end2 > reader.len)
throw RangeError("index out of range");
reader.len = end2;
key = "";
value = "";
while (reader.pos < end2) {
let tag2 = reader.uint32();
switch (tag2 >>> 3) {
case 1:
key = reader.string();
break;
case 2:
value = reader.string();
break;
default:
reader.skipType(tag2 & 7, long);
break;
}
}
if (reader.pos !== end2)
throw RangeError("index out of range");
reader.len = end;
if (key === "__proto__")
$util.makeProp(message.volume_context, key);
message.volume_context[key] = value;
break;
}
default:
reader.skipType(tag & 7, long);
break;
}
}
if (length !== undefined) {
if (reader.pos !== end)
throw RangeError("index out of range");
reader.len = length;
}
return message;
};

NodeStageVolumeRequest.fromObject = function fromObject(object, long) {
if (object instanceof $root.csi.v1.NodeStageVolumeRequest)
return object;
if (!$util.isObject(object))
throw TypeError(".csi.v1.NodeStageVolumeRequest: object expected");
if (long === undefined)
long = 0;
if (long > $util.recursionLimit)
throw Error("maximum nesting depth exceeded");
let message = new $root.csi.v1.NodeStageVolumeRequest();
if (object.volume_id != null)
message.volume_id = String(object.volume_id);
if (object.publish_context) {
if (!$util.isObject(object.publish_context))
throw TypeError(".csi.v1.NodeStageVolumeRequest.publish_context: object expected");
message.publish_context = {};
for (let keys = Object.keys(object.publish_context), i = 0; i < keys.length; ++i) {
if (keys[i] === "__proto__")
$util.makeProp(message.publish_context, keys[i]);
message.publish_context[keys[i]] = String(object.publish_context[keys[i]]);
}
}
if (object.staging_target_path != null)
message.staging_target_path = String(object.staging_target_path);
if (object.volume_capability != null) {
if (!$util.isObject(object.volume_capability))
throw TypeError(".csi.v1.NodeStageVolumeRequest.volume_capability: object expected");
message.volume_capability = $root.csi.v1.VolumeCapability.fromObject(object.volume_capability, long + 1);
}
if (object.secrets) {
if (!$util.isObject(object.secrets))
throw TypeError(".csi.v1.NodeStageVolumeRequest.secrets: object expected");
message.secrets = {};
for (let keys = Object.keys(object.secrets), i = 0; i < keys.length; ++i) {
if (keys[i] === "__proto__")
$util.makeProp(message.secrets, keys[i]);
message.secrets[keys[i]] = String(object.secrets[keys[i]]);
}
}
if (object.volume_context) {
if (!$util.isObject(object.volume_context))
throw TypeError(".csi.v1.NodeStageVolumeRequest.volume_context: object expected");
message.volume_context = {};
for (let keys = Object.keys(object.volume_context), i = 0; i < keys.length; ++i) {
if (keys[i] === "__proto__")
$util.makeProp(message.volume_context, keys[i]);
message.volume_context[keys[i]] = String(object.volume_context[keys[i]]);
}
}
return message;
};

NodeStageVolumeRequest.toObject = function toObject(message, options, q) {
if (!options)
options = {};
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
let object = {};
if (options.objects || options.defaults) {
object.publish_context = {};
object.secrets = {};
object.volume_context = {};
}
if (options.defaults) {
object.volume_id = "";
object.staging_target_path = "";
object.volume_capability = null;
}
if (message.volume_id != null && Object.hasOwnProperty.call(message, "volume_id"))
object.volume_id = message.volume_id;
let keys2;
if (message.publish_context && (keys2 = Object.keys(message.publish_context)).length) {
object.publish_context = {};
for (let j = 0; j < keys2.length; ++j) {
if (keys2[j] === "__proto__")
$util.makeProp(object.publish_context, keys2[j]);
object.publish_context[keys2[j]] = message.publish_context[keys2[j]];
}
}
if (message.staging_target_path != null && Object.hasOwnProperty.call(message, "staging_target_path"))
object.staging_target_path = message.staging_target_path;
if (message.volume_capability != null && Object.hasOwnProperty.call(message, "volume_capability"))
object.volume_capability = $root.csi.v1.VolumeCapability.toObject(message.volume_capability, options, q + 1);
if (message.secrets && (keys2 = Object.keys(message.secrets)).length) {
object.secrets = {};
for (let j = 0; j < keys2.length; ++j) {
if (keys2[j] === "__proto__")
$util.makeProp(object.secrets, keys2[j]);
object.secrets[keys2[j]] = message.secrets[keys2[j]];
}
}
if (message.volume_context && (keys2 = Object.keys(message.volume_context)).length) {
object.volume_context = {};
for (let j = 0; j < keys2.length; ++j) {
if (keys2[j] === "__proto__")
$util.makeProp(object.volume_context, keys2[j]);
object.volume_context[keys2[j]] = message.volume_context[keys2[j]];
}
}
return object;
};

NodeStageVolumeRequest.prototype.toJSON = function toJSON() {
return this.constructor.toObject(this, $protobuf.util.toJSONOptions);
};

return NodeStageVolumeRequest;
})();

v1.NodeStageVolumeResponse = (function() {

function NodeStageVolumeResponse(properties) {
if (properties)
for (let keys = Object.keys(properties), i = 0; i < keys.length; ++i)
if (properties[keys[i]] != null && keys[i] !== "__proto__")
this[keys[i]] = properties[keys[i]];
}

NodeStageVolumeResponse.encode = function encode(message, writer, q) {
if (!writer)
writer = $Writer.create();
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
return writer;
};

NodeStageVolumeResponse.decode = function decode(reader, length, error, long) {
if (!(reader instanceof $Reader))
reader = $Reader.create(reader);
if (long === undefined)
long = 0;
if (long > $Reader.recursionLimit)
throw Error("maximum nesting depth exceeded");
let end, message;
if (length === undefined)
end = reader.len;
else {
end = reader.pos + length;
if (end > reader.len)
throw RangeError("index out of range");
length = reader.len;
reader.len = end;
}
message = new $root.csi.v1.NodeStageVolumeResponse();
while (reader.pos < end) {
let tag = reader.uint32();
if (tag === error)
break;
switch (tag >>> 3) {
default:
reader.skipType(tag & 7, long);
break;
}
}
if (length !== undefined) {
if (reader.pos !== end)
throw RangeError("index out of range");
reader.len = length;
}
return message;
};

NodeStageVolumeResponse.fromObject = function fromObject(object, long) {
if (object instanceof $root.csi.v1.NodeStageVolumeResponse)
return object;
return new $root.csi.v1.NodeStageVolumeResponse();
};

NodeStageVolumeResponse.toObject = function toObject() {
return {};
};

NodeStageVolumeResponse.prototype.toJSON = function toJSON() {
return this.constructor.toObject(this, $protobuf.util.toJSONOptions);
};

return NodeStageVolumeResponse;
})();

v1.NodeUnstageVolumeRequest = (function() {

function NodeUnstageVolumeRequest(properties) {
if (properties)
for (let keys = Object.keys(properties), i = 0; i < keys.length; ++i)
if (properties[keys[i]] != null && keys[i] !== "__proto__")
this[keys[i]] = properties[keys[i]];
}

NodeUnstageVolumeRequest.prototype.volume_id = "";
NodeUnstageVolumeRequest.prototype.staging_target_path = "";

NodeUnstageVolumeRequest.encode = function encode(message, writer, q) {
if (!writer)
writer = $Writer.create();
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
if (message.volume_id != null && Object.hasOwnProperty.call(message, "volume_id"))
writer.uint32(10).string(message.volume_id);
if (message.staging_target_path != null && Object.hasOwnProperty.call(message, "staging_target_path"))
writer.uint32(18).string(message.staging_target_path);
return writer;
};

NodeUnstageVolumeRequest.decode = function decode(reader, length, error, long) {
if (!(reader instanceof $Reader))
reader = $Reader.create(reader);
if (long === undefined)
long = 0;
if (long > $Reader.recursionLimit)
throw Error("maximum nesting depth exceeded");
let end, message;
if (length === undefined)
end = reader.len;
else {
end = reader.pos + length;
if (end > reader.len)
throw RangeError("index out of range");
length = reader.len;
reader.len = end;
}
message = new $root.csi.v1.NodeUnstageVolumeRequest();
while (reader.pos < end) {
let tag = reader.uint32();
if (tag === error)
break;
switch (tag >>> 3) {
case 1: {
message.volume_id = reader.string();
break;
}
case 2: {
message.staging_target_path = reader.string();
break;
}
default:
reader.skipType(tag & 7, long);
break;
}
}
if (length !== undefined) {
if (reader.pos !== end)
throw RangeError("index out of range");
reader.len = length;
}
return message;
};

NodeUnstageVolumeRequest.fromObject = function fromObject(object, long) {
if (object instanceof $root.csi.v1.NodeUnstageVolumeRequest)
return object;
if (!$util.isObject(object))
throw TypeError(".csi.v1.NodeUnstageVolumeRequest: object expected");
if (long === undefined)
long = 0;
if (long > $util.recursionLimit)
throw Error("maximum nesting depth exceeded");
let message = new $root.csi.v1.NodeUnstageVolumeRequest();
if (object.volume_id != null)
message.volume_id = String(object.volume_id);
if (object.staging_target_path != null)
message.staging_target_path = String(object.staging_target_path);
return message;
};

NodeUnstageVolumeRequest.toObject = function toObject(message, options, q) {
if (!options)
options = {};
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
let object = {};
if (options.defaults) {
object.volume_id = "";
object.staging_target_path = "";
}
if (message.volume_id != null && Object.hasOwnProperty.call(message, "volume_id"))
object.volume_id = message.volume_id;
if (message.staging_target_path != null && Object.hasOwnProperty.call(message, "staging_target_path"))
object.staging_target_path = message.staging_target_path;
return object;
};

NodeUnstageVolumeRequest.prototype.toJSON = function toJSON() {
return this.constructor.toObject(this, $protobuf.util.toJSONOptions);
};

return NodeUnstageVolumeRequest;
})();

v1.NodeUnstageVolumeResponse = (function() {

function NodeUnstageVolumeResponse(properties) {
if (properties)
for (let keys = Object.keys(properties), i = 0; i < keys.length; ++i)
if (properties[keys[i]] != null && keys[i] !== "__proto__")
this[keys[i]] = properties[keys[i]];
}

NodeUnstageVolumeResponse.encode = function encode(message, writer, q) {
if (!writer)
writer = $Writer.create();
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
return writer;
};

NodeUnstageVolumeResponse.decode = function decode(reader, length, error, long) {
if (!(reader instanceof $Reader))
reader = $Reader.create(reader);
if (long === undefined)
long = 0;
if (long > $Reader.recursionLimit)
throw Error("maximum nesting depth exceeded");
let end, message;
if (length === undefined)
end = reader.len;
else {
end = reader.pos + length;
if (end > reader.len)
throw RangeError("index out of range");
length = reader.len;
reader.len = end;
}
message = new $root.csi.v1.NodeUnstageVolumeResponse();
while (reader.pos < end) {
let tag = reader.uint32();
if (tag === error)
break;
switch (tag >>> 3) {
default:
reader.skipType(tag & 7, long);
break;
}
}
if (length !== undefined) {
if (reader.pos !== end)
throw RangeError("index out of range");
reader.len = length;
}
return message;
};

NodeUnstageVolumeResponse.fromObject = function fromObject(object, long) {
if (object instanceof $root.csi.v1.NodeUnstageVolumeResponse)
return object;
return new $root.csi.v1.NodeUnstageVolumeResponse();
};

NodeUnstageVolumeResponse.toObject = function toObject() {
return {};
};

NodeUnstageVolumeResponse.prototype.toJSON = function toJSON() {
return this.constructor.toObject(this, $protobuf.util.toJSONOptions);
};

return NodeUnstageVolumeResponse;
})();

v1.NodePublishVolumeRequest = (function() {

function NodePublishVolumeRequest(properties) {
this.publish_context = {};
this.secrets = {};
this.volume_context = {};
if (properties)
for (let keys = Object.keys(properties), i = 0; i < keys.length; ++i)
if (properties[keys[i]] != null && keys[i] !== "__proto__")
this[keys[i]] = properties[keys[i]];
}

NodePublishVolumeRequest.prototype.volume_id = "";
NodePublishVolumeRequest.prototype.publish_context = $util.emptyObject;
NodePublishVolumeRequest.prototype.staging_target_path = "";
NodePublishVolumeRequest.prototype.target_path = "";
NodePublishVolumeRequest.prototype.volume_capability = null;
NodePublishVolumeRequest.prototype.readonly = false;
NodePublishVolumeRequest.prototype.secrets = $util.emptyObject;
NodePublishVolumeRequest.prototype.volume_context = $util.emptyObject;

NodePublishVolumeRequest.encode = function encode(message, writer, q) {
if (!writer)
writer = $Writer.create();
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
if (message.volume_id != null && Object.hasOwnProperty.call(message, "volume_id"))
writer.uint32(10).string(message.volume_id);
if (message.publish_context != null && Object.hasOwnProperty.call(message, "publish_context"))
for (let keys = Object.keys(message.publish_context), i = 0; i < keys.length; ++i)
writer.uint32(18).fork().uint32(10).string(keys[i]).uint32(18).string(message.publish_context[keys[i]]).ldelim();
if (message.staging_target_path != null && Object.hasOwnProperty.call(message, "staging_target_path"))
writer.uint32(26).string(message.staging_target_path);
if (message.target_path != null && Object.hasOwnProperty.call(message, "target_path"))
writer.uint32(34).string(message.target_path);
if (message.volume_capability != null && Object.hasOwnProperty.call(message, "volume_capability"))
$root.csi.v1.VolumeCapability.encode(message.volume_capability, writer.uint32(42).fork(), q + 1).ldelim();
if (message.readonly != null && Object.hasOwnProperty.call(message, "readonly"))
writer.uint32(48).bool(message.readonly);
if (message.secrets != null && Object.hasOwnProperty.call(message, "secrets"))
for (let keys = Object.keys(message.secrets), i = 0; i < keys.length; ++i)
writer.uint32(58).fork().uint32(10).string(keys[i]).uint32(18).string(message.secrets[keys[i]]).ldelim();
if (message.volume_context != null && Object.hasOwnProperty.call(message, "volume_context"))
for (let keys = Object.keys(message.volume_context), i = 0; i < keys.length; ++i)
writer.uint32(66).fork().uint32(10).string(keys[i]).uint32(18).string(message.volume_context[keys[i]]).ldelim();
return writer;
};

NodePublishVolumeRequest.decode = function decode(reader, length, error, long) {
if (!(reader instanceof $Reader))
reader = $Reader.create(reader);
if (long === undefined)
long = 0;
if (long > $Reader.recursionLimit)
throw Error("maximum nesting depth exceeded");
let end, message, key, value;
if (length === undefined)
end = reader.len;
else {
end = reader.pos + length;
if (end > reader.len)
throw RangeError("index out of range");
length = reader.len;
reader.len = end;
}
message = new $root.csi.v1.NodePublishVolumeRequest();
while (reader.pos < end) {
let tag = reader.uint32();
if (tag === error)
break;
switch (tag >>> 3) {
case 1: {
message.volume_id = reader.string();
break;
}
case 2: {
if (message.publish_context === $util.emptyObject)
message.publish_context = {};
let end2 = reader.uint32() + reader.pos;
if (end2 > reader.len)
throw RangeError("index out of range");
reader.len = end2;
key = "";
value = "";
while (reader.pos < end2) {
let tag2 = reader.uint32();
switch (tag2 >>> 3) {
case 1:
key = reader.string();
break;
case 2:
value = reader.string();
break;
default:
reader.skipType(tag2 & 7, long);
break;
}
}
if (reader.pos !== end2)
throw RangeError("index out of range");
reader.len = end;
if (key === "__proto__")
$util.makeProp(message.publish_context, key);
message.publish_context[key] = value;
break;
}
case 3: {
message.staging_target_path = reader.string();
break;
}
case 4: {
message.target_path = reader.string();
break;
}
case 5: {
message.volume_capability = $root.csi.v1.VolumeCapability.decode(reader, reader.uint32(), undefined, long + 1);
break;
}
case 6: {
message.readonly = reader.bool();
break;
}
case 7: {
if (message.secrets === $util.emptyObject)
message.secrets = {};
let end2 = reader.uint32() + reader.pos;
if (end2 > reader.len)
throw RangeError("index out of range");
reader.len = end2;
key = "";
value = "";
while (reader.pos < end2) {
let tag2 = reader.uint32();
switch (tag2 >>> 3) {
case 1:
key = reader.string();
break;
case 2:
value = reader.string();
break;
default:
reader.skipType(tag2 & 7, long);
break;
}
}
if (reader.pos !== end2)
throw RangeError("index out of range");
reader.len = end;
if (key === "__proto__")
$util.makeProp(message.secrets, key);
message.secrets[key] = value;
break;
}
case 8: {
if (message.volume_context === $util.emptyObject)
message.volume_context = {};
let end2 = reader.uint32() + reader.pos;
if (end2 > reader.len)
throw RangeError("index out of range");
reader.len = end2;
key = "";
value = "";
while (reader.pos < end2) {
let tag2 = reader.uint32();
switch (tag2 >>> 3) {
case 1:
key = reader.string();
break;
case 2:
value = reader.string();
break;
default:
reader.skipType(tag2 & 7, long);
break;
}
}
if (reader.pos !== end2)
throw RangeError("index out of range");
reader.len = end;
if (key === "__proto__")
$util.makeProp(message.volume_context, key);
message.volume_context[key] = value;
break;
}
default:
reader.skipType(tag & 7, long);
break;
}
}
if (length !== undefined) {
if (reader.pos !== end)
throw RangeError("index out of range");
reader.len = length;
}
return message;
};

NodePublishVolumeRequest.fromObject = function fromObject(object, long) {
if (object instanceof $root.csi.v1.NodePublishVolumeRequest)
return object;
if (!$util.isObject(object))
throw TypeError(".csi.v1.NodePublishVolumeRequest: object expected");
if (long === undefined)
long = 0;
if (long > $util.recursionLimit)
throw Error("maximum nesting depth exceeded");
let message = new $root.csi.v1.NodePublishVolumeRequest();
if (object.volume_id != null)
message.volume_id = String(object.volume_id);
if (object.publish_context) {
if (!$util.isObject(object.publish_context))
throw TypeError(".csi.v1.NodePublishVolumeRequest.publish_context: object expected");
message.publish_context = {};
for (let keys = Object.keys(object.publish_context), i = 0; i < keys.length; ++i) {
if (keys[i] === "__proto__")
$util.makeProp(message.publish_context, keys[i]);
message.publish_context[keys[i]] = String(object.publish_context[keys[i]]);
}
}
if (object.staging_target_path != null)
message.staging_target_path = String(object.staging_target_path);
if (object.target_path != null)
message.target_path = String(object.target_path);
if (object.volume_capability != null) {
if (!$util.isObject(object.volume_capability))
throw TypeError(".csi.v1.NodePublishVolumeRequest.volume_capability: object expected");
message.volume_capability = $root.csi.v1.VolumeCapability.fromObject(object.volume_capability, long + 1);
}
if (object.readonly != null)
message.readonly = Boolean(object.readonly);
if (object.secrets) {
if (!$util.isObject(object.secrets))
throw TypeError(".csi.v1.NodePublishVolumeRequest.secrets: object expected");
message.secrets = {};
for (let keys = Object.keys(object.secrets), i = 0; i < keys.length; ++i) {
if (keys[i] === "__proto__")
$util.makeProp(message.secrets, keys[i]);
message.secrets[keys[i]] = String(object.secrets[keys[i]]);
}
}
if (object.volume_context) {
if (!$util.isObject(object.volume_context))
throw TypeError(".csi.v1.NodePublishVolumeRequest.volume_context: object expected");
message.volume_context = {};
for (let keys = Object.keys(object.volume_context), i = 0; i < keys.length; ++i) {
if (keys[i] === "__proto__")
$util.makeProp(message.volume_context, keys[i]);
message.volume_context[keys[i]] = String(object.volume_context[keys[i]]);
}
}
return message;
};

NodePublishVolumeRequest.toObject = function toObject(message, options, q) {
if (!options)
options = {};
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
let object = {};
if (options.objects || options.defaults) {
object.publish_context = {};
object.secrets = {};
object.volume_context = {};
}
if (options.defaults) {
object.volume_id = "";
object.staging_target_path = "";
object.target_path = "";
object.volume_capability = null;
object.readonly = false;
}
if (message.volume_id != null && Object.hasOwnProperty.call(message, "volume_id"))
object.volume_id = message.volume_id;
let keys2;
if (message.publish_context && (keys2 = Object.keys(message.publish_context)).length) {
object.publish_context = {};
for (let j = 0; j < keys2.length; ++j) {
if (keys2[j] === "__proto__")
$util.makeProp(object.publish_context, keys2[j]);
object.publish_context[keys2[j]] = message.publish_context[keys2[j]];
}
}
if (message.staging_target_path != null && Object.hasOwnProperty.call(message, "staging_target_path"))
object.staging_target_path = message.staging_target_path;
if (message.target_path != null && Object.hasOwnProperty.call(message, "target_path"))
object.target_path = message.target_path;
if (message.volume_capability != null && Object.hasOwnProperty.call(message, "volume_capability"))
object.volume_capability = $root.csi.v1.VolumeCapability.toObject(message.volume_capability, options, q + 1);
if (message.readonly != null && Object.hasOwnProperty.call(message, "readonly"))
object.readonly = message.readonly;
if (message.secrets && (keys2 = Object.keys(message.secrets)).length) {
object.secrets = {};
for (let j = 0; j < keys2.length; ++j) {
if (keys2[j] === "__proto__")
$util.makeProp(object.secrets, keys2[j]);
object.secrets[keys2[j]] = message.secrets[keys2[j]];
}
}
if (message.volume_context && (keys2 = Object.keys(message.volume_context)).length) {
object.volume_context = {};
for (let j = 0; j < keys2.length; ++j) {
if (keys2[j] === "__proto__")
$util.makeProp(object.volume_context, keys2[j]);
object.volume_context[keys2[j]] = message.volume_context[keys2[j]];
}
}
return object;
};

NodePublishVolumeRequest.prototype.toJSON = function toJSON() {
return this.constructor.toObject(this, $protobuf.util.toJSONOptions);
};

return NodePublishVolumeRequest;
})();

v1.NodePublishVolumeResponse = (function() {

function NodePublishVolumeResponse(properties) {
if (properties)
for (let keys = Object.keys(properties), i = 0; i < keys.length; ++i)
if (properties[keys[i]] != null && keys[i] !== "__proto__")
this[keys[i]] = properties[keys[i]];
}

NodePublishVolumeResponse.encode = function encode(message, writer, q) {
if (!writer)
writer = $Writer.create();
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
return writer;
};

NodePublishVolumeResponse.decode = function decode(reader, length, error, long) {
if (!(reader instanceof $Reader))
reader = $Reader.create(reader);
if (long === undefined)
long = 0;
if (long > $Reader.recursionLimit)
throw Error("maximum nesting depth exceeded");
let end, message;
if (length === undefined)
end = reader.len;
else {
end = reader.pos + length;
if (end > reader.len)
throw RangeError("index out of range");
length = reader.len;
reader.len = end;
}
message = new $root.csi.v1.NodePublishVolumeResponse();
while (reader.pos < end) {
let tag = reader.uint32();
if (tag === error)
break;
switch (tag >>> 3) {
default:
reader.skipType(tag & 7, long);
break;
}
}
if (length !== undefined) {
if (reader.pos !== end)
throw RangeError("index out of range");
reader.len = length;
}
return message;
};

NodePublishVolumeResponse.fromObject = function fromObject(object, long) {
if (object instanceof $root.csi.v1.NodePublishVolumeResponse)
return object;
return new $root.csi.v1.NodePublishVolumeResponse();
};

NodePublishVolumeResponse.toObject = function toObject() {
return {};
};

NodePublishVolumeResponse.prototype.toJSON = function toJSON() {
return this.constructor.toObject(this, $protobuf.util.toJSONOptions);
};

return NodePublishVolumeResponse;
})();

v1.NodeUnpublishVolumeRequest = (function() {

function NodeUnpublishVolumeRequest(properties) {
if (properties)
for (let keys = Object.keys(properties), i = 0; i < keys.length; ++i)
if (properties[keys[i]] != null && keys[i] !== "__proto__")
this[keys[i]] = properties[keys[i]];
}

NodeUnpublishVolumeRequest.prototype.volume_id = "";
NodeUnpublishVolumeRequest.prototype.target_path = "";

NodeUnpublishVolumeRequest.encode = function encode(message, writer, q) {
if (!writer)
writer = $Writer.create();
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
if (message.volume_id != null && Object.hasOwnProperty.call(message, "volume_id"))
writer.uint32(10).string(message.volume_id);
if (message.target_path != null && Object.hasOwnProperty.call(message, "target_path"))
writer.uint32(18).string(message.target_path);
return writer;
};

NodeUnpublishVolumeRequest.decode = function decode(reader, length, error, long) {
if (!(reader instanceof $Reader))
reader = $Reader.create(reader);
if (long === undefined)
long = 0;
if (long > $Reader.recursionLimit)
throw Error("maximum nesting depth exceeded");
let end, message;
if (length === undefined)
end = reader.len;
else {
end = reader.pos + length;
if (end > reader.len)
throw RangeError("index out of range");
length = reader.len;
reader.len = end;
}
message = new $root.csi.v1.NodeUnpublishVolumeRequest();
while (reader.pos < end) {
let tag = reader.uint32();
if (tag === error)
break;
switch (tag >>> 3) {
case 1: {
message.volume_id = reader.string();
break;
}
case 2: {
message.target_path = reader.string();
break;
}
default:
reader.skipType(tag & 7, long);
break;
}
}
if (length !== undefined) {
if (reader.pos !== end)
throw RangeError("index out of range");
reader.len = length;
}
return message;
};

NodeUnpublishVolumeRequest.fromObject = function fromObject(object, long) {
if (object instanceof $root.csi.v1.NodeUnpublishVolumeRequest)
return object;
if (!$util.isObject(object))
throw TypeError(".csi.v1.NodeUnpublishVolumeRequest: object expected");
if (long === undefined)
long = 0;
if (long > $util.recursionLimit)
throw Error("maximum nesting depth exceeded");
let message = new $root.csi.v1.NodeUnpublishVolumeRequest();
if (object.volume_id != null)
message.volume_id = String(object.volume_id);
if (object.target_path != null)
message.target_path = String(object.target_path);
return message;
};

NodeUnpublishVolumeRequest.toObject = function toObject(message, options, q) {
if (!options)
options = {};
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
let object = {};
if (options.defaults) {
object.volume_id = "";
object.target_path = "";
}
if (message.volume_id != null && Object.hasOwnProperty.call(message, "volume_id"))
object.volume_id = message.volume_id;
if (message.target_path != null && Object.hasOwnProperty.call(message, "target_path"))
object.target_path = message.target_path;
return object;
};

NodeUnpublishVolumeRequest.prototype.toJSON = function toJSON() {
return this.constructor.toObject(this, $protobuf.util.toJSONOptions);
};

return NodeUnpublishVolumeRequest;
})();

v1.NodeUnpublishVolumeResponse = (function() {

function NodeUnpublishVolumeResponse(properties) {
if (properties)
for (let keys = Object.keys(properties), i = 0; i < keys.length; ++i)
if (properties[keys[i]] != null && keys[i] !== "__proto__")
this[keys[i]] = properties[keys[i]];
}

NodeUnpublishVolumeResponse.encode = function encode(message, writer, q) {
if (!writer)
writer = $Writer.create();
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
return writer;
};

NodeUnpublishVolumeResponse.decode = function decode(reader, length, error, long) {
if (!(reader instanceof $Reader))
reader = $Reader.create(reader);
if (long === undefined)
long = 0;
if (long > $Reader.recursionLimit)
throw Error("maximum nesting depth exceeded");
let end, message;
if (length === undefined)
end = reader.len;
else {
end = reader.pos + length;
if (end > reader.len)
throw RangeError("index out of range");
length = reader.len;
reader.len = end;
}
message = new $root.csi.v1.NodeUnpublishVolumeResponse();
while (reader.pos < end) {
let tag = reader.uint32();
if (tag === error)
break;
switch (tag >>> 3) {
default:
reader.skipType(tag & 7, long);
break;
}
}
if (length !== undefined) {
if (reader.pos !== end)
throw RangeError("index out of range");
reader.len = length;
}
return message;
};

NodeUnpublishVolumeResponse.fromObject = function fromObject(object, long) {
if (object instanceof $root.csi.v1.NodeUnpublishVolumeResponse)
return object;
return new $root.csi.v1.NodeUnpublishVolumeResponse();
};

NodeUnpublishVolumeResponse.toObject = function toObject() {
return {};
};

NodeUnpublishVolumeResponse.prototype.toJSON = function toJSON() {
return this.constructor.toObject(this, $protobuf.util.toJSONOptions);
};

return NodeUnpublishVolumeResponse;
})();

v1.NodeGetVolumeStatsRequest = (function() {

function NodeGetVolumeStatsRequest(properties) {
if (properties)
for (let keys = Object.keys(properties), i = 0; i < keys.length; ++i)
if (properties[keys[i]] != null && keys[i] !== "__proto__")
this[keys[i]] = properties[keys[i]];
}

NodeGetVolumeStatsRequest.prototype.volume_id = "";
NodeGetVolumeStatsRequest.prototype.volume_path = "";
NodeGetVolumeStatsRequest.prototype.staging_target_path = "";

NodeGetVolumeStatsRequest.encode = function encode(message, writer, q) {
if (!writer)
writer = $Writer.create();
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
if (message.volume_id != null && Object.hasOwnProperty.call(message, "volume_id"))
writer.uint32(10).string(message.volume_id);
if (message.volume_path != null && Object.hasOwnProperty.call(message, "volume_path"))
writer.uint32(18).string(message.volume_path);
if (message.staging_target_path != null && Object.hasOwnProperty.call(message, "staging_target_path"))
writer.uint32(26).string(message.staging_target_path);
return writer;
};

NodeGetVolumeStatsRequest.decode = function decode(reader, length, error, long) {
if (!(reader instanceof $Reader))
reader = $Reader.create(reader);
if (long === undefined)
long = 0;
if (long > $Reader.recursionLimit)
throw Error("maximum nesting depth exceeded");
let end, message;
if (length === undefined)
end = reader.len;
else {
end = reader.pos + length;
if (end > reader.len)
throw RangeError("index out of range");
length = reader.len;
reader.len = end;
}
message = new $root.csi.v1.NodeGetVolumeStatsRequest();
while (reader.pos < end) {
let tag = reader.uint32();
if (tag === error)
break;
switch (tag >>> 3) {
case 1: {
message.volume_id = reader.string();
break;
}
case 2: {
message.volume_path = reader.string();
break;
}
case 3: {
message.staging_target_path = reader.string();
break;
}
default:
reader.skipType(tag & 7, long);
break;
}
}
if (length !== undefined) {
if (reader.pos !== end)
throw RangeError("index out of range");
reader.len = length;
}
return message;
};

NodeGetVolumeStatsRequest.fromObject = function fromObject(object, long) {
if (object instanceof $root.csi.v1.NodeGetVolumeStatsRequest)
return object;
if (!$util.isObject(object))
throw TypeError(".csi.v1.NodeGetVolumeStatsRequest: object expected");
if (long === undefined)
long = 0;
if (long > $util.recursionLimit)
throw Error("maximum nesting depth exceeded");
let message = new $root.csi.v1.NodeGetVolumeStatsRequest();
if (object.volume_id != null)
message.volume_id = String(object.volume_id);
if (object.volume_path != null)
message.volume_path = String(object.volume_path);
if (object.staging_target_path != null)
message.staging_target_path = String(object.staging_target_path);
return message;
};

NodeGetVolumeStatsRequest.toObject = function toObject(message, options, q) {
if (!options)
options = {};
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
let object = {};
if (options.defaults) {
object.volume_id = "";
object.volume_path = "";
object.staging_target_path = "";
}
if (message.volume_id != null && Object.hasOwnProperty.call(message, "volume_id"))
object.volume_id = message.volume_id;
if (message.volume_path != null && Object.hasOwnProperty.call(message, "volume_path"))
object.volume_path = message.volume_path;
if (message.staging_target_path != null && Object.hasOwnProperty.call(message, "staging_target_path"))
object.staging_target_path = message.staging_target_path;
return object;
};

NodeGetVolumeStatsRequest.prototype.toJSON = function toJSON() {
return this.constructor.toObject(this, $protobuf.util.toJSONOptions);
};

return NodeGetVolumeStatsRequest;
})();

v1.NodeGetVolumeStatsResponse = (function() {

function NodeGetVolumeStatsResponse(properties) {
this.usage = [];
if (properties)
for (let keys = Object.keys(properties), i = 0; i < keys.length; ++i)
if (properties[keys[i]] != null && keys[i] !== "__proto__")
this[keys[i]] = properties[keys[i]];
}

NodeGetVolumeStatsResponse.prototype.usage = $util.emptyArray;

NodeGetVolumeStatsResponse.encode = function encode(message, writer, q) {
if (!writer)
writer = $Writer.create();
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
if (message.usage != null && message.usage.length)
for (let i = 0; i < message.usage.length; ++i)
$root.csi.v1.VolumeUsage.encode(message.usage[i], writer.uint32(10).fork(), q + 1).ldelim();
return writer;
};

NodeGetVolumeStatsResponse.decode = function decode(reader, length, error, long) {
if (!(reader instanceof $Reader))
reader = $Reader.create(reader);
if (long === undefined)
long = 0;
if (long > $Reader.recursionLimit)
throw Error("maximum nesting depth exceeded");
let end, message;
if (length === undefined)
end = reader.len;
else {
end = reader.pos + length;
if (end > reader.len)
throw RangeError("index out of range");
length = reader.len;
reader.len = end;
}
message = new $root.csi.v1.NodeGetVolumeStatsResponse();
while (reader.pos < end) {
let tag = reader.uint32();
if (tag === error)
break;
switch (tag >>> 3) {
case 1: {
if (!(message.usage && message.usage.length))
message.usage = [];
message.usage.push($root.csi.v1.VolumeUsage.decode(reader, reader.uint32(), undefined, long + 1));
break;
}
default:
reader.skipType(tag & 7, long);
break;
}
}
if (length !== undefined) {
if (reader.pos !== end)
throw RangeError("index out of range");
reader.len = length;
}
return message;
};

NodeGetVolumeStatsResponse.fromObject = function fromObject(object, long) {
if (object instanceof $root.csi.v1.NodeGetVolumeStatsResponse)
return object;
if (!$util.isObject(object))
throw TypeError(".csi.v1.NodeGetVolumeStatsResponse: object expected");
if (long === undefined)
long = 0;
if (long > $util.recursionLimit)
throw Error("maximum nesting depth exceeded");
let message = new $root.csi.v1.NodeGetVolumeStatsResponse();
if (object.usage) {
if (!Array.isArray(object.usage))
throw TypeError(".csi.v1.NodeGetVolumeStatsResponse.usage: array expected");
message.usage = [];
for (let i = 0; i < object.usage.length; ++i) {
if (!$util.isObject(object.usage[i]))
throw TypeError(".csi.v1.NodeGetVolumeStatsResponse.usage: object expected");
message.usage[i] = $root.csi.v1.VolumeUsage.fromObject(object.usage[i], long + 1);
}
}
return message;
};

NodeGetVolumeStatsResponse.toObject = function toObject(message, options, q) {
if (!options)
options = {};
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
let object = {};
if (options.arrays || options.defaults)
object.usage = [];
if (message.usage && message.usage.length) {
object.usage = [];
for (let j = 0; j < message.usage.length; ++j)
object.usage[j] = $root.csi.v1.VolumeUsage.toObject(message.usage[j], options, q + 1);
}
return object;
};

NodeGetVolumeStatsResponse.prototype.toJSON = function toJSON() {
return this.constructor.toObject(this, $protobuf.util.toJSONOptions);
};

return NodeGetVolumeStatsResponse;
})();

v1.VolumeUsage = (function() {

function VolumeUsage(properties) {
if (properties)
for (let keys = Object.keys(properties), i = 0; i < keys.length; ++i)
if (properties[keys[i]] != null && keys[i] !== "__proto__")
this[keys[i]] = properties[keys[i]];
}

VolumeUsage.prototype.available = $util.Long ? $util.Long.fromBits(0,0,false) : 0;
VolumeUsage.prototype.total = $util.Long ? $util.Long.fromBits(0,0,false) : 0;
VolumeUsage.prototype.used = $util.Long ? $util.Long.fromBits(0,0,false) : 0;
VolumeUsage.prototype.unit = 0;

VolumeUsage.encode = function encode(message, writer, q) {
if (!writer)
writer = $Writer.create();
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
if (message.available != null && Object.hasOwnProperty.call(message, "available"))
writer.uint32(8).int64(message.available);
if (message.total != null && Object.hasOwnProperty.call(message, "total"))
writer.uint32(16).int64(message.total);
if (message.used != null && Object.hasOwnProperty.call(message, "used"))
writer.uint32(24).int64(message.used);
if (message.unit != null && Object.hasOwnProperty.call(message, "unit"))
writer.uint32(32).int32(message.unit);
return writer;
};

VolumeUsage.decode = function decode(reader, length, error, long) {
if (!(reader instanceof $Reader))
reader = $Reader.create(reader);
if (long === undefined)
long = 0;
if (long > $Reader.recursionLimit)
throw Error("maximum nesting depth exceeded");
let end, message;
if (length === undefined)
end = reader.len;
else {
end = reader.pos + length;
if (end > reader.len)
throw RangeError("index out of range");
length = reader.len;
reader.len = end;
}
message = new $root.csi.v1.VolumeUsage();
while (reader.pos < end) {
let tag = reader.uint32();
if (tag === error)
break;
switch (tag >>> 3) {
case 1: {
message.available = reader.int64();
break;
}
case 2: {
message.total = reader.int64();
break;
}
case 3: {
message.used = reader.int64();
break;
}
case 4: {
message.unit = reader.int32();
break;
}
default:
reader.skipType(tag & 7, long);
break;
}
}
if (length !== undefined) {
if (reader.pos !== end)
throw RangeError("index out of range");
reader.len = length;
}
return message;
};

VolumeUsage.fromObject = function fromObject(object, long) {
if (object instanceof $root.csi.v1.VolumeUsage)
return object;
if (!$util.isObject(object))
throw TypeError(".csi.v1.VolumeUsage: object expected");
if (long === undefined)
long = 0;
if (long > $util.recursionLimit)
throw Error("maximum nesting depth exceeded");
let message = new $root.csi.v1.VolumeUsage();
if (object.available != null)
if ($util.Long)
message.available = $util.Long.fromValue(object.available, false);
else if (typeof object.available === "string")
message.available = parseInt(object.available, 10);
else if (typeof object.available === "number")
message.available = object.available;
else if (typeof object.available === "object")
message.available = new $util.LongBits(object.available.low >>> 0, object.available.high >>> 0).toNumber();
if (object.total != null)
if ($util.Long)
message.total = $util.Long.fromValue(object.total, false);
else if (typeof object.total === "string")
message.total = parseInt(object.total, 10);
else if (typeof object.total === "number")
message.total = object.total;
else if (typeof object.total === "object")
message.total = new $util.LongBits(object.total.low >>> 0, object.total.high >>> 0).toNumber();
if (object.used != null)
if ($util.Long)
message.used = $util.Long.fromValue(object.used, false);
else if (typeof object.used === "string")
message.used = parseInt(object.used, 10);
else if (typeof object.used === "number")
message.used = object.used;
else if (typeof object.used === "object")
message.used = new $util.LongBits(object.used.low >>> 0, object.used.high >>> 0).toNumber();
switch (object.unit) {
default:
if (typeof object.unit === "number") {
message.unit = object.unit;
break;
}
break;
case "UNKNOWN":
case 0:
message.unit = 0;
break;
case "BYTES":
case 1:
message.unit = 1;
break;
case "INODES":
case 2:
message.unit = 2;
break;
}
return message;
};

VolumeUsage.toObject = function toObject(message, options, q) {
if (!options)
options = {};
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
let object = {};
if (options.defaults) {
if ($util.Long) {
let long = new $util.Long(0, 0, false);
object.available = options.longs === String ? long.toString() : options.longs === Number ? long.toNumber() : typeof BigInt !== "undefined" && options.longs === BigInt ? long.toBigInt() : long;
} else
object.available = options.longs === String ? "0" : typeof BigInt !== "undefined" && options.longs === BigInt ? BigInt("0") : 0;
if ($util.Long) {
let long = new $util.Long(0, 0, false);
object.total = options.longs === String ? long.toString() : options.longs === Number ? long.toNumber() : typeof BigInt !== "undefined" && options.longs === BigInt ? long.toBigInt() : long;
} else
object.total = options.longs === String ? "0" : typeof BigInt !== "undefined" && options.longs === BigInt ? BigInt("0") : 0;
if ($util.Long) {
let long = new $util.Long(0, 0, false);
object.used = options.longs === String ? long.toString() : options.longs === Number ? long.toNumber() : typeof BigInt !== "undefined" && options.longs === BigInt ? long.toBigInt() : long;
} else
object.used = options.longs === String ? "0" : typeof BigInt !== "undefined" && options.longs === BigInt ? BigInt("0") : 0;
object.unit = options.enums === String ? "UNKNOWN" : 0;
}
if (message.available != null && Object.hasOwnProperty.call(message, "available"))
if (typeof BigInt !== "undefined" && options.longs === BigInt)
object.available = typeof message.available === "number" ? BigInt(message.available) : $util.Long.fromBits(message.available.low >>> 0, message.available.high >>> 0, false).toBigInt();
else if (typeof message.available === "number")
object.available = options.longs === String ? String(message.available) : message.available;
else
object.available = options.longs === String ? $util.Long.prototype.toString.call(message.available) : options.longs === Number ? new $util.LongBits(message.available.low >>> 0, message.available.high >>> 0).toNumber() : message.available;
if (message.total != null && Object.hasOwnProperty.call(message, "total"))
if (typeof BigInt !== "undefined" && options.longs === BigInt)
object.total = typeof message.total === "number" ? BigInt(message.total) : $util.Long.fromBits(message.total.low >>> 0, message.total.high >>> 0, false).toBigInt();
else if (typeof message.total === "number")
object.total = options.longs === String ? String(message.total) : message.total;
else
object.total = options.longs === String ? $util.Long.prototype.toString.call(message.total) : options.longs === Number ? new $util.LongBits(message.total.low >>> 0, message.total.high >>> 0).toNumber() : message.total;
if (message.used != null && Object.hasOwnProperty.call(message, "used"))
if (typeof BigInt !== "undefined" && options.longs === BigInt)
object.used = typeof message.used === "number" ? BigInt(message.used) : $util.Long.fromBits(message.used.low >>> 0, message.used.high >>> 0, false).toBigInt();
else if (typeof message.used === "number")
object.used = options.longs === String ? String(message.used) : message.used;
else
object.used = options.longs === String ? $util.Long.prototype.toString.call(message.used) : options.longs === Number ? new $util.LongBits(message.used.low >>> 0, message.used.high >>> 0).toNumber() : message.used;
if (message.unit != null && Object.hasOwnProperty.call(message, "unit"))
object.unit = options.enums === String ? $root.csi.v1.VolumeUsage.Unit[message.unit] === undefined ? message.unit : $root.csi.v1.VolumeUsage.Unit[message.unit] : message.unit;
return object;
};

VolumeUsage.prototype.toJSON = function toJSON() {
return this.constructor.toObject(this, $protobuf.util.toJSONOptions);
};

VolumeUsage.Unit = (function() {
const valuesById = {}, values = Object.create(valuesById);
values[valuesById[0] = "UNKNOWN"] = 0;
values[valuesById[1] = "BYTES"] = 1;
values[valuesById[2] = "INODES"] = 2;
return values;
})();

return VolumeUsage;
})();

v1.NodeGetVolumeHealthRequest = (function() {

function NodeGetVolumeHealthRequest(properties) {
if (properties)
for (let keys = Object.keys(properties), i = 0; i < keys.length; ++i)
if (properties[keys[i]] != null && keys[i] !== "__proto__")
this[keys[i]] = properties[keys[i]];
}

NodeGetVolumeHealthRequest.prototype.volume_id = "";
NodeGetVolumeHealthRequest.prototype.volume_publish_path = "";
NodeGetVolumeHealthRequest.prototype.staging_target_path = "";

NodeGetVolumeHealthRequest.encode = function encode(message, writer, q) {
if (!writer)
writer = $Writer.create();
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
if (message.volume_id != null && Object.hasOwnProperty.call(message, "volume_id"))
writer.uint32(10).string(message.volume_id);
if (message.volume_publish_path != null && Object.hasOwnProperty.call(message, "volume_publish_path"))
writer.uint32(18).string(message.volume_publish_path);
if (message.staging_target_path != null && Object.hasOwnProperty.call(message, "staging_target_path"))
writer.uint32(26).string(message.staging_target_path);
return writer;
};

NodeGetVolumeHealthRequest.decode = function decode(reader, length, error, long) {
if (!(reader instanceof $Reader))
reader = $Reader.create(reader);
if (long === undefined)
long = 0;
if (long > $Reader.recursionLimit)
throw Error("maximum nesting depth exceeded");
let end, message;
if (length === undefined)
end = reader.len;
else {
end = reader.pos + length;
if (end > reader.len)
throw RangeError("index out of range");
length = reader.len;
reader.len = end;
}
message = new $root.csi.v1.NodeGetVolumeHealthRequest();
while (reader.pos < end) {
let tag = reader.uint32();
if (tag === error)
break;
switch (tag >>> 3) {
case 1: {
message.volume_id = reader.string();
break;
}
case 2: {
message.volume_publish_path = reader.string();
break;
}
case 3: {
message.staging_target_path = reader.string();
break;
}
default:
reader.skipType(tag & 7, long);
break;
}
}
if (length !== undefined) {
if (reader.pos !== end)
throw RangeError("index out of range");
reader.len = length;
}
return message;
};

NodeGetVolumeHealthRequest.fromObject = function fromObject(object, long) {
if (object instanceof $root.csi.v1.NodeGetVolumeHealthRequest)
return object;
if (!$util.isObject(object))
throw TypeError(".csi.v1.NodeGetVolumeHealthRequest: object expected");
if (long === undefined)
long = 0;
if (long > $util.recursionLimit)
throw Error("maximum nesting depth exceeded");
let message = new $root.csi.v1.NodeGetVolumeHealthRequest();
if (object.volume_id != null)
message.volume_id = String(object.volume_id);
if (object.volume_publish_path != null)
message.volume_publish_path = String(object.volume_publish_path);
if (object.staging_target_path != null)
message.staging_target_path = String(object.staging_target_path);
return message;
};

NodeGetVolumeHealthRequest.toObject = function toObject(message, options, q) {
if (!options)
options = {};
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
let object = {};
if (options.defaults) {
object.volume_id = "";
object.volume_publish_path = "";
object.staging_target_path = "";
}
if (message.volume_id != null && Object.hasOwnProperty.call(message, "volume_id"))
object.volume_id = message.volume_id;
if (message.volume_publish_path != null && Object.hasOwnProperty.call(message, "volume_publish_path"))
object.volume_publish_path = message.volume_publish_path;
if (message.staging_target_path != null && Object.hasOwnProperty.call(message, "staging_target_path"))
object.staging_target_path = message.staging_target_path;
return object;
};

NodeGetVolumeHealthRequest.prototype.toJSON = function toJSON() {
return this.constructor.toObject(this, $protobuf.util.toJSONOptions);
};

return NodeGetVolumeHealthRequest;
})();

v1.NodeGetVolumeHealthResponse = (function() {

function NodeGetVolumeHealthResponse(properties) {
if (properties)
for (let keys = Object.keys(properties), i = 0; i < keys.length; ++i)
if (properties[keys[i]] != null && keys[i] !== "__proto__")
this[keys[i]] = properties[keys[i]];
}

NodeGetVolumeHealthResponse.prototype.volume_health = null;

NodeGetVolumeHealthResponse.encode = function encode(message, writer, q) {
if (!writer)
writer = $Writer.create();
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
if (message.volume_health != null && Object.hasOwnProperty.call(message, "volume_health"))
$root.csi.v1.VolumeHealth.encode(message.volume_health, writer.uint32(10).fork(), q + 1).ldelim();
return writer;
};

NodeGetVolumeHealthResponse.decode = function decode(reader, length, error, long) {
if (!(reader instanceof $Reader))
reader = $Reader.create(reader);
if (long === undefined)
long = 0;
if (long > $Reader.recursionLimit)
throw Error("maximum nesting depth exceeded");
let end, message;
if (length === undefined)
end = reader.len;
else {
end = reader.pos + length;
if (end > reader.len)
throw RangeError("index out of range");
length = reader.len;
reader.len = end;
}
message = new $root.csi.v1.NodeGetVolumeHealthResponse();
while (reader.pos < end) {
let tag = reader.uint32();
if (tag === error)
break;
switch (tag >>> 3) {
case 1: {
message.volume_health = $root.csi.v1.VolumeHealth.decode(reader, reader.uint32(), undefined, long + 1);
break;
}
default:
reader.skipType(tag & 7, long);
break;
}
}
if (length !== undefined) {
if (reader.pos !== end)
throw RangeError("index out of range");
reader.len = length;
}
return message;
};

NodeGetVolumeHealthResponse.fromObject = function fromObject(object, long) {
if (object instanceof $root.csi.v1.NodeGetVolumeHealthResponse)
return object;
if (!$util.isObject(object))
throw TypeError(".csi.v1.NodeGetVolumeHealthResponse: object expected");
if (long === undefined)
long = 0;
if (long > $util.recursionLimit)
throw Error("maximum nesting depth exceeded");
let message = new $root.csi.v1.NodeGetVolumeHealthResponse();
if (object.volume_health != null) {
if (!$util.isObject(object.volume_health))
throw TypeError(".csi.v1.NodeGetVolumeHealthResponse.volume_health: object expected");
message.volume_health = $root.csi.v1.VolumeHealth.fromObject(object.volume_health, long + 1);
}
return message;
};

NodeGetVolumeHealthResponse.toObject = function toObject(message, options, q) {
if (!options)
options = {};
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
let object = {};
if (options.defaults)
object.volume_health = null;
if (message.volume_health != null && Object.hasOwnProperty.call(message, "volume_health"))
object.volume_health = $root.csi.v1.VolumeHealth.toObject(message.volume_health, options, q + 1);
return object;
};

NodeGetVolumeHealthResponse.prototype.toJSON = function toJSON() {
return this.constructor.toObject(this, $protobuf.util.toJSONOptions);
};

return NodeGetVolumeHealthResponse;
})();

v1.NodeGetStorageHealthRequest = (function() {

function NodeGetStorageHealthRequest(properties) {
this.secrets = {};
if (properties)
for (let keys = Object.keys(properties), i = 0; i < keys.length; ++i)
if (properties[keys[i]] != null && keys[i] !== "__proto__")
this[keys[i]] = properties[keys[i]];
}

NodeGetStorageHealthRequest.prototype.secrets = $util.emptyObject;

NodeGetStorageHealthRequest.encode = function encode(message, writer, q) {
if (!writer)
writer = $Writer.create();
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
if (message.secrets != null && Object.hasOwnProperty.call(message, "secrets"))
for (let keys = Object.keys(message.secrets), i = 0; i < keys.length; ++i)
writer.uint32(10).fork().uint32(10).string(keys[i]).uint32(18).string(message.secrets[keys[i]]).ldelim();
return writer;
};

NodeGetStorageHealthRequest.decode = function decode(reader, length, error, long) {
if (!(reader instanceof $Reader))
reader = $Reader.create(reader);
if (long === undefined)
long = 0;
if (long > $Reader.recursionLimit)
throw Error("maximum nesting depth exceeded");
let end, message, key, value;
if (length === undefined)
end = reader.len;
else {
end = reader.pos + length;
if (end > reader.len)
throw RangeError("index out of range");
length = reader.len;
reader.len = end;
}
message = new $root.csi.v1.NodeGetStorageHealthRequest();
while (reader.pos < end) {
let tag = reader.uint32();
if (tag === error)
break;
switch (tag >>> 3) {
case 1: {
if (message.secrets === $util.emptyObject)
message.secrets = {};
let end2 = reader.uint32() + reader.pos;
if (end2 > reader.len)
throw RangeError("index out of range");
reader.len = end2;
key = "";
value = "";
while (reader.pos < end2) {
let tag2 = reader.uint32();
switch (tag2 >>> 3) {
case 1:
key = reader.string();
break;
case 2:
value = reader.string();
break;
default:
reader.skipType(tag2 & 7, long);
break;
}
}
if (reader.pos !== end2)
throw RangeError("index out of range");
reader.len = end;
if (key === "__proto__")
$util.makeProp(message.secrets, key);
message.secrets[key] = value;
break;
}
default:
reader.skipType(tag & 7, long);
break;
}
}
if (length !== undefined) {
if (reader.pos !== end)
throw RangeError("index out of range");
reader.len = length;
}
return message;
};

NodeGetStorageHealthRequest.fromObject = function fromObject(object, long) {
if (object instanceof $root.csi.v1.NodeGetStorageHealthRequest)
return object;
if (!$util.isObject(object))
throw TypeError(".csi.v1.NodeGetStorageHealthRequest: object expected");
if (long === undefined)
long = 0;
if (long > $util.recursionLimit)
throw Error("maximum nesting depth exceeded");
let message = new $root.csi.v1.NodeGetStorageHealthRequest();
if (object.secrets) {
if (!$util.isObject(object.secrets))
throw TypeError(".csi.v1.NodeGetStorageHealthRequest.secrets: object expected");
message.secrets = {};
for (let keys = Object.keys(object.secrets), i = 0; i < keys.length; ++i) {
if (keys[i] === "__proto__")
$util.makeProp(message.secrets, keys[i]);
message.secrets[keys[i]] = String(object.secrets[keys[i]]);
}
}
return message;
};

NodeGetStorageHealthRequest.toObject = function toObject(message, options, q) {
if (!options)
options = {};
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
let object = {};
if (options.objects || options.defaults)
object.secrets = {};
let keys2;
if (message.secrets && (keys2 = Object.keys(message.secrets)).length) {
object.secrets = {};
for (let j = 0; j < keys2.length; ++j) {
if (keys2[j] === "__proto__")
$util.makeProp(object.secrets, keys2[j]);
object.secrets[keys2[j]] = message.secrets[keys2[j]];
}
}
return object;
};

NodeGetStorageHealthRequest.prototype.toJSON = function toJSON() {
return this.constructor.toObject(this, $protobuf.util.toJSONOptions);
};

return NodeGetStorageHealthRequest;
})();

v1.NodeGetStorageHealthResponse = (function() {

function NodeGetStorageHealthResponse(properties) {
this.backend_health = [];
if (properties)
for (let keys = Object.keys(properties), i = 0; i < keys.length; ++i)
if (properties[keys[i]] != null && keys[i] !== "__proto__")
this[keys[i]] = properties[keys[i]];
}

NodeGetStorageHealthResponse.prototype.backend_health = $util.emptyArray;

NodeGetStorageHealthResponse.encode = function encode(message, writer, q) {
if (!writer)
writer = $Writer.create();
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
if (message.backend_health != null && message.backend_health.length)
for (let i = 0; i < message.backend_health.length; ++i)
$root.csi.v1.NodeGetStorageHealthResponse.StorageBackendHealth.encode(message.backend_health[i], writer.uint32(10).fork(), q + 1).ldelim();
return writer;
};

NodeGetStorageHealthResponse.decode = function decode(reader, length, error, long) {
if (!(reader instanceof $Reader))
reader = $Reader.create(reader);
if (long === undefined)
long = 0;
if (long > $Reader.recursionLimit)
throw Error("maximum nesting depth exceeded");
let end, message;
if (length === undefined)
end = reader.len;
else {
end = reader.pos + length;
if (end > reader.len)
throw RangeError("index out of range");
length = reader.len;
reader.len = end;
}
message = new $root.csi.v1.NodeGetStorageHealthResponse();
while (reader.pos < end) {
let tag = reader.uint32();
if (tag === error)
break;
switch (tag >>> 3) {
case 1: {
if (!(message.backend_health && message.backend_health.length))
message.backend_health = [];
message.backend_health.push($root.csi.v1.NodeGetStorageHealthResponse.StorageBackendHealth.decode(reader, reader.uint32(), undefined, long + 1));
break;
}
default:
reader.skipType(tag & 7, long);
break;
}
}
if (length !== undefined) {
if (reader.pos !== end)
throw RangeError("index out of range");
reader.len = length;
}
return message;
};

NodeGetStorageHealthResponse.fromObject = function fromObject(object, long) {
if (object instanceof $root.csi.v1.NodeGetStorageHealthResponse)
return object;
if (!$util.isObject(object))
throw TypeError(".csi.v1.NodeGetStorageHealthResponse: object expected");
if (long === undefined)
long = 0;
if (long > $util.recursionLimit)
throw Error("maximum nesting depth exceeded");
let message = new $root.csi.v1.NodeGetStorageHealthResponse();
if (object.backend_health) {
if (!Array.isArray(object.backend_health))
throw TypeError(".csi.v1.NodeGetStorageHealthResponse.backend_health: array expected");
message.backend_health = [];
for (let i = 0; i < object.backend_health.length; ++i) {
if (!$util.isObject(object.backend_health[i]))
throw TypeError(".csi.v1.NodeGetStorageHealthResponse.backend_health: object expected");
message.backend_health[i] = $root.csi.v1.NodeGetStorageHealthResponse.StorageBackendHealth.fromObject(object.backend_health[i], long + 1);
}
}
return message;
};

NodeGetStorageHealthResponse.toObject = function toObject(message, options, q) {
if (!options)
options = {};
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
let object = {};
if (options.arrays || options.defaults)
object.backend_health = [];
if (message.backend_health && message.backend_health.length) {
object.backend_health = [];
for (let j = 0; j < message.backend_health.length; ++j)
object.backend_health[j] = $root.csi.v1.NodeGetStorageHealthResponse.StorageBackendHealth.toObject(message.backend_health[j], options, q + 1);
}
return object;
};

NodeGetStorageHealthResponse.prototype.toJSON = function toJSON() {
return this.constructor.toObject(this, $protobuf.util.toJSONOptions);
};

NodeGetStorageHealthResponse.StorageBackendHealth = (function() {

function StorageBackendHealth(properties) {
if (properties)
for (let keys = Object.keys(properties), i = 0; i < keys.length; ++i)
if (properties[keys[i]] != null && keys[i] !== "__proto__")
this[keys[i]] = properties[keys[i]];
}

StorageBackendHealth.prototype.status = 0;
StorageBackendHealth.prototype.reason = "";
StorageBackendHealth.prototype.message = "";
StorageBackendHealth.prototype.volume_capability = null;

StorageBackendHealth.encode = function encode(message, writer, q) {
if (!writer)
writer = $Writer.create();
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
if (message.status != null && Object.hasOwnProperty.call(message, "status"))
writer.uint32(8).int32(message.status);
if (message.reason != null && Object.hasOwnProperty.call(message, "reason"))
writer.uint32(18).string(message.reason);
if (message.message != null && Object.hasOwnProperty.call(message, "message"))
writer.uint32(26).string(message.message);
if (message.volume_capability != null && Object.hasOwnProperty.call(message, "volume_capability"))
$root.csi.v1.VolumeCapability.encode(message.volume_capability, writer.uint32(34).fork(), q + 1).ldelim();
return writer;
};

StorageBackendHealth.decode = function decode(reader, length, error, long) {
if (!(reader instanceof $Reader))
reader = $Reader.create(reader);
if (long === undefined)
long = 0;
if (long > $Reader.recursionLimit)
throw Error("maximum nesting depth exceeded");
let end, message;
if (length === undefined)
end = reader.len;
else {
end = reader.pos + length;
if (end > reader.len)
throw RangeError("index out of range");
length = reader.len;
reader.len = end;
}
message = new $root.csi.v1.NodeGetStorageHealthResponse.StorageBackendHealth();
while (reader.pos < end) {
let tag = reader.uint32();
if (tag === error)
break;
switch (tag >>> 3) {
case 1: {
message.status = reader.int32();
break;
}
case 2: {
message.reason = reader.string();
break;
}
case 3: {
message.message = reader.string();
break;
}
case 4: {
message.volume_capability = $root.csi.v1.VolumeCapability.decode(reader, reader.uint32(), undefined, long + 1);
break;
}
default:
reader.skipType(tag & 7, long);
break;
}
}
if (length !== undefined) {
if (reader.pos !== end)
throw RangeError("index out of range");
reader.len = length;
}
return message;
};

StorageBackendHealth.fromObject = function fromObject(object, long) {
if (object instanceof $root.csi.v1.NodeGetStorageHealthResponse.StorageBackendHealth)
return object;
if (!$util.isObject(object))
throw TypeError(".csi.v1.NodeGetStorageHealthResponse.StorageBackendHealth: object expected");
if (long === undefined)
long = 0;
if (long > $util.recursionLimit)
throw Error("maximum nesting depth exceeded");
let message = new $root.csi.v1.NodeGetStorageHealthResponse.StorageBackendHealth();
switch (object.status) {
default:
if (typeof object.status === "number") {
message.status = object.status;
break;
}
break;
case "UNKNOWN_STORAGE_HEALTH_ERROR_TYPE":
case 0:
message.status = 0;
break;
case "STORAGE_DEGRADED":
case 1:
message.status = 1;
break;
case "STORAGE_UNREACHABLE":
case 2:
message.status = 2;
break;
}
if (object.reason != null)
message.reason = String(object.reason);
if (object.message != null)
message.message = String(object.message);
if (object.volume_capability != null) {
if (!$util.isObject(object.volume_capability))
throw TypeError(".csi.v1.NodeGetStorageHealthResponse.StorageBackendHealth.volume_capability: object expected");
message.volume_capability = $root.csi.v1.VolumeCapability.fromObject(object.volume_capability, long + 1);
}
return message;
};

StorageBackendHealth.toObject = function toObject(message, options, q) {
if (!options)
options = {};
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
let object = {};
if (options.defaults) {
object.status = options.enums === String ? "UNKNOWN_STORAGE_HEALTH_ERROR_TYPE" : 0;
object.reason = "";
object.message = "";
object.volume_capability = null;
}
if (message.status != null && Object.hasOwnProperty.call(message, "status"))
object.status = options.enums === String ? $root.csi.v1.StorageHealthErrorType[message.status] === undefined ? message.status : $root.csi.v1.StorageHealthErrorType[message.status] : message.status;
if (message.reason != null && Object.hasOwnProperty.call(message, "reason"))
object.reason = message.reason;
if (message.message != null && Object.hasOwnProperty.call(message, "message"))
object.message = message.message;
if (message.volume_capability != null && Object.hasOwnProperty.call(message, "volume_capability"))
object.volume_capability = $root.csi.v1.VolumeCapability.toObject(message.volume_capability, options, q + 1);
return object;
};

StorageBackendHealth.prototype.toJSON = function toJSON() {
return this.constructor.toObject(this, $protobuf.util.toJSONOptions);
};

return StorageBackendHealth;
})();

return NodeGetStorageHealthResponse;
})();

v1.StorageHealthErrorType = (function() {
const valuesById = {}, values = Object.create(valuesById);
values[valuesById[0] = "UNKNOWN_STORAGE_HEALTH_ERROR_TYPE"] = 0;
values[valuesById[1] = "STORAGE_DEGRADED"] = 1;
values[valuesById[2] = "STORAGE_UNREACHABLE"] = 2;
return values;
})();

v1.NodeGetCapabilitiesRequest = (function() {

function NodeGetCapabilitiesRequest(properties) {
if (properties)
for (let keys = Object.keys(properties), i = 0; i < keys.length; ++i)
if (properties[keys[i]] != null && keys[i] !== "__proto__")
this[keys[i]] = properties[keys[i]];
}

NodeGetCapabilitiesRequest.encode = function encode(message, writer, q) {
if (!writer)
writer = $Writer.create();
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
return writer;
};

NodeGetCapabilitiesRequest.decode = function decode(reader, length, error, long) {
if (!(reader instanceof $Reader))
reader = $Reader.create(reader);
if (long === undefined)
long = 0;
if (long > $Reader.recursionLimit)
throw Error("maximum nesting depth exceeded");
let end, message;
if (length === undefined)
end = reader.len;
else {
end = reader.pos + length;
if (end > reader.len)
throw RangeError("index out of range");
length = reader.len;
reader.len = end;
}
message = new $root.csi.v1.NodeGetCapabilitiesRequest();
while (reader.pos < end) {
let tag = reader.uint32();
if (tag === error)
break;
switch (tag >>> 3) {
default:
reader.skipType(tag & 7, long);
break;
}
}
if (length !== undefined) {
if (reader.pos !== end)
throw RangeError("index out of range");
reader.len = length;
}
return message;
};

NodeGetCapabilitiesRequest.fromObject = function fromObject(object, long) {
if (object instanceof $root.csi.v1.NodeGetCapabilitiesRequest)
return object;
return new $root.csi.v1.NodeGetCapabilitiesRequest();
};

NodeGetCapabilitiesRequest.toObject = function toObject() {
return {};
};

NodeGetCapabilitiesRequest.prototype.toJSON = function toJSON() {
return this.constructor.toObject(this, $protobuf.util.toJSONOptions);
};

return NodeGetCapabilitiesRequest;
})();

v1.NodeGetCapabilitiesResponse = (function() {

function NodeGetCapabilitiesResponse(properties) {
this.capabilities = [];
if (properties)
for (let keys = Object.keys(properties), i = 0; i < keys.length; ++i)
if (properties[keys[i]] != null && keys[i] !== "__proto__")
this[keys[i]] = properties[keys[i]];
}

NodeGetCapabilitiesResponse.prototype.capabilities = $util.emptyArray;

NodeGetCapabilitiesResponse.encode = function encode(message, writer, q) {
if (!writer)
writer = $Writer.create();
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
if (message.capabilities != null && message.capabilities.length)
for (let i = 0; i < message.capabilities.length; ++i)
$root.csi.v1.NodeServiceCapability.encode(message.capabilities[i], writer.uint32(10).fork(), q + 1).ldelim();
return writer;
};

NodeGetCapabilitiesResponse.decode = function decode(reader, length, error, long) {
if (!(reader instanceof $Reader))
reader = $Reader.create(reader);
if (long === undefined)
long = 0;
if (long > $Reader.recursionLimit)
throw Error("maximum nesting depth exceeded");
let end, message;
if (length === undefined)
end = reader.len;
else {
end = reader.pos + length;
if (end > reader.len)
throw RangeError("index out of range");
length = reader.len;
reader.len = end;
}
message = new $root.csi.v1.NodeGetCapabilitiesResponse();
while (reader.pos < end) {
let tag = reader.uint32();
if (tag === error)
break;
switch (tag >>> 3) {
case 1: {
if (!(message.capabilities && message.capabilities.length))
message.capabilities = [];
message.capabilities.push($root.csi.v1.NodeServiceCapability.decode(reader, reader.uint32(), undefined, long + 1));
break;
}
default:
reader.skipType(tag & 7, long);
break;
}
}
if (length !== undefined) {
if (reader.pos !== end)
throw RangeError("index out of range");
reader.len = length;
}
return message;
};

NodeGetCapabilitiesResponse.fromObject = function fromObject(object, long) {
if (object instanceof $root.csi.v1.NodeGetCapabilitiesResponse)
return object;
if (!$util.isObject(object))
throw TypeError(".csi.v1.NodeGetCapabilitiesResponse: object expected");
if (long === undefined)
long = 0;
if (long > $util.recursionLimit)
throw Error("maximum nesting depth exceeded");
let message = new $root.csi.v1.NodeGetCapabilitiesResponse();
if (object.capabilities) {
if (!Array.isArray(object.capabilities))
throw TypeError(".csi.v1.NodeGetCapabilitiesResponse.capabilities: array expected");
message.capabilities = [];
for (let i = 0; i < object.capabilities.length; ++i) {
if (!$util.isObject(object.capabilities[i]))
throw TypeError(".csi.v1.NodeGetCapabilitiesResponse.capabilities: object expected");
message.capabilities[i] = $root.csi.v1.NodeServiceCapability.fromObject(object.capabilities[i], long + 1);
}
}
return message;
};

NodeGetCapabilitiesResponse.toObject = function toObject(message, options, q) {
if (!options)
options = {};
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
let object = {};
if (options.arrays || options.defaults)
object.capabilities = [];
if (message.capabilities && message.capabilities.length) {
object.capabilities = [];
for (let j = 0; j < message.capabilities.length; ++j)
object.capabilities[j] = $root.csi.v1.NodeServiceCapability.toObject(message.capabilities[j], options, q + 1);
}
return object;
};

NodeGetCapabilitiesResponse.prototype.toJSON = function toJSON() {
return this.constructor.toObject(this, $protobuf.util.toJSONOptions);
};

return NodeGetCapabilitiesResponse;
})();

v1.NodeServiceCapability = (function() {

function NodeServiceCapability(properties) {
if (properties)
for (let keys = Object.keys(properties), i = 0; i < keys.length; ++i)
if (properties[keys[i]] != null && keys[i] !== "__proto__")
this[keys[i]] = properties[keys[i]];
}

NodeServiceCapability.prototype.rpc = null;

let $oneOfFields;

Object.defineProperty(NodeServiceCapability.prototype, "type", {
get: $util.oneOfGetter($oneOfFields = ["rpc"]),
set: $util.oneOfSetter($oneOfFields)
});

NodeServiceCapability.encode = function encode(message, writer, q) {
if (!writer)
writer = $Writer.create();
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
if (message.rpc != null && Object.hasOwnProperty.call(message, "rpc"))
$root.csi.v1.NodeServiceCapability.RPC.encode(message.rpc, writer.uint32(10).fork(), q + 1).ldelim();
return writer;
};

NodeServiceCapability.decode = function decode(reader, length, error, long) {
if (!(reader instanceof $Reader))
reader = $Reader.create(reader);
if (long === undefined)
long = 0;
if (long > $Reader.recursionLimit)
throw Error("maximum nesting depth exceeded");
let end, message;
if (length === undefined)
end = reader.len;
else {
end = reader.pos + length;
if (end > reader.len)
throw RangeError("index out of range");
length = reader.len;
reader.len = end;
}
message = new $root.csi.v1.NodeServiceCapability();
while (reader.pos < end) {
let tag = reader.uint32();
if (tag === error)
break;
switch (tag >>> 3) {
case 1: {
message.rpc = $root.csi.v1.NodeServiceCapability.RPC.decode(reader, reader.uint32(), undefined, long + 1);
break;
}
default:
reader.skipType(tag & 7, long);
break;
}
}
if (length !== undefined) {
if (reader.pos !== end)
throw RangeError("index out of range");
reader.len = length;
}
return message;
};

NodeServiceCapability.fromObject = function fromObject(object, long) {
if (object instanceof $root.csi.v1.NodeServiceCapability)
return object;
if (!$util.isObject(object))
throw TypeError(".csi.v1.NodeServiceCapability: object expected");
if (long === undefined)
long = 0;
if (long > $util.recursionLimit)
throw Error("maximum nesting depth exceeded");
let message = new $root.csi.v1.NodeServiceCapability();
if (object.rpc != null) {
if (!$util.isObject(object.rpc))
throw TypeError(".csi.v1.NodeServiceCapability.rpc: object expected");
message.rpc = $root.csi.v1.NodeServiceCapability.RPC.fromObject(object.rpc, long + 1);
}
return message;
};

NodeServiceCapability.toObject = function toObject(message, options, q) {
if (!options)
options = {};
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
let object = {};
if (message.rpc != null && Object.hasOwnProperty.call(message, "rpc")) {
object.rpc = $root.csi.v1.NodeServiceCapability.RPC.toObject(message.rpc, options, q + 1);
if (options.oneofs)
object.type = "rpc";
}
return object;
};

NodeServiceCapability.prototype.toJSON = function toJSON() {
return this.constructor.toObject(this, $protobuf.util.toJSONOptions);
};

NodeServiceCapability.RPC = (function() {

function RPC(properties) {
if (properties)
for (let keys = Object.keys(properties), i = 0; i < keys.length; ++i)
if (properties[keys[i]] != null && keys[i] !== "__proto__")
this[keys[i]] = properties[keys[i]];
}

RPC.prototype.type = 0;

RPC.encode = function encode(message, writer, q) {
if (!writer)
writer = $Writer.create();
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
if (message.type != null && Object.hasOwnProperty.call(message, "type"))
writer.uint32(8).int32(message.type);
return writer;
};

RPC.decode = function decode(reader, length, error, long) {
if (!(reader instanceof $Reader))
reader = $Reader.create(reader);
if (long === undefined)
long = 0;
if (long > $Reader.recursionLimit)
throw Error("maximum nesting depth exceeded");
let end, message;
if (length === undefined)
end = reader.len;
else {
end = reader.pos + length;
if (end > reader.len)
throw RangeError("index out of range");
length = reader.len;
reader.len = end;
}
message = new $root.csi.v1.NodeServiceCapability.RPC();
while (reader.pos < end) {
let tag = reader.uint32();
if (tag === error)
break;
switch (tag >>> 3) {
case 1: {
message.type = reader.int32();
break;
}
default:
reader.skipType(tag & 7, long);
break;
}
}
if (length !== undefined) {
if (reader.pos !== end)
throw RangeError("index out of range");
reader.len = length;
}
return message;
};

RPC.fromObject = function fromObject(object, long) {
if (object instanceof $root.csi.v1.NodeServiceCapability.RPC)
return object;
if (!$util.isObject(object))
throw TypeError(".csi.v1.NodeServiceCapability.RPC: object expected");
if (long === undefined)
long = 0;
if (long > $util.recursionLimit)
throw Error("maximum nesting depth exceeded");
let message = new $root.csi.v1.NodeServiceCapability.RPC();
switch (object.type) {
default:
if (typeof object.type === "number") {
message.type = object.type;
break;
}
break;
case "UNKNOWN":
case 0:
message.type = 0;
break;
case "STAGE_UNSTAGE_VOLUME":
case 1:
message.type = 1;
break;
case "GET_VOLUME_STATS":
case 2:
message.type = 2;
break;
case "EXPAND_VOLUME":
case 3:
message.type = 3;
break;
case "SINGLE_NODE_MULTI_WRITER":
case 5:
message.type = 5;
break;
case "VOLUME_MOUNT_GROUP":
case 6:
message.type = 6;
break;
case "GET_VOLUME_HEALTH":
case 7:
message.type = 7;
break;
case "GET_STORAGE_HEALTH":
case 8:
message.type = 8;
break;
}
return message;
};

RPC.toObject = function toObject(message, options, q) {
if (!options)
options = {};
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
let object = {};
if (options.defaults)
object.type = options.enums === String ? "UNKNOWN" : 0;
if (message.type != null && Object.hasOwnProperty.call(message, "type"))
object.type = options.enums === String ? $root.csi.v1.NodeServiceCapability.RPC.Type[message.type] === undefined ? message.type : $root.csi.v1.NodeServiceCapability.RPC.Type[message.type] : message.type;
return object;
};

RPC.prototype.toJSON = function toJSON() {
return this.constructor.toObject(this, $protobuf.util.toJSONOptions);
};

RPC.Type = (function() {
const valuesById = {}, values = Object.create(valuesById);
values[valuesById[0] = "UNKNOWN"] = 0;
values[valuesById[1] = "STAGE_UNSTAGE_VOLUME"] = 1;
values[valuesById[2] = "GET_VOLUME_STATS"] = 2;
values[valuesById[3] = "EXPAND_VOLUME"] = 3;
values[valuesById[5] = "SINGLE_NODE_MULTI_WRITER"] = 5;
values[valuesById[6] = "VOLUME_MOUNT_GROUP"] = 6;
values[valuesById[7] = "GET_VOLUME_HEALTH"] = 7;
values[valuesById[8] = "GET_STORAGE_HEALTH"] = 8;
return values;
})();

return RPC;
})();

return NodeServiceCapability;
})();

v1.NodeGetInfoRequest = (function() {

function NodeGetInfoRequest(properties) {
if (properties)
for (let keys = Object.keys(properties), i = 0; i < keys.length; ++i)
if (properties[keys[i]] != null && keys[i] !== "__proto__")
this[keys[i]] = properties[keys[i]];
}

NodeGetInfoRequest.encode = function encode(message, writer, q) {
if (!writer)
writer = $Writer.create();
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
return writer;
};

NodeGetInfoRequest.decode = function decode(reader, length, error, long) {
if (!(reader instanceof $Reader))
reader = $Reader.create(reader);
if (long === undefined)
long = 0;
if (long > $Reader.recursionLimit)
throw Error("maximum nesting depth exceeded");
let end, message;
if (length === undefined)
end = reader.len;
else {
end = reader.pos + length;
if (end > reader.len)
throw RangeError("index out of range");
length = reader.len;
reader.len = end;
}
message = new $root.csi.v1.NodeGetInfoRequest();
while (reader.pos < end) {
let tag = reader.uint32();
if (tag === error)
break;
switch (tag >>> 3) {
default:
reader.skipType(tag & 7, long);
break;
}
}
if (length !== undefined) {
if (reader.pos !== end)
throw RangeError("index out of range");
reader.len = length;
}
return message;
};

NodeGetInfoRequest.fromObject = function fromObject(object, long) {
if (object instanceof $root.csi.v1.NodeGetInfoRequest)
return object;
return new $root.csi.v1.NodeGetInfoRequest();
};

NodeGetInfoRequest.toObject = function toObject() {
return {};
};

NodeGetInfoRequest.prototype.toJSON = function toJSON() {
return this.constructor.toObject(this, $protobuf.util.toJSONOptions);
};

return NodeGetInfoRequest;
})();

v1.NodeGetInfoResponse = (function() {

function NodeGetInfoResponse(properties) {
if (properties)
for (let keys = Object.keys(properties), i = 0; i < keys.length; ++i)
if (properties[keys[i]] != null && keys[i] !== "__proto__")
this[keys[i]] = properties[keys[i]];
}

NodeGetInfoResponse.prototype.node_id = "";
NodeGetInfoResponse.prototype.max_volumes_per_node = $util.Long ? $util.Long.fromBits(0,0,false) : 0;
NodeGetInfoResponse.prototype.accessible_topology = null;

NodeGetInfoResponse.encode = function encode(message, writer, q) {
if (!writer)
writer = $Writer.create();
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
if (message.node_id != null && Object.hasOwnProperty.call(message, "node_id"))
writer.uint32(10).string(message.node_id);
if (message.max_volumes_per_node != null && Object.hasOwnProperty.call(message, "max_volumes_per_node"))
writer.uint32(16).int64(message.max_volumes_per_node);
if (message.accessible_topology != null && Object.hasOwnProperty.call(message, "accessible_topology"))
$root.csi.v1.Topology.encode(message.accessible_topology, writer.uint32(26).fork(), q + 1).ldelim();
return writer;
};

NodeGetInfoResponse.decode = function decode(reader, length, error, long) {
if (!(reader instanceof $Reader))
reader = $Reader.create(reader);
if (long === undefined)
long = 0;
if (long > $Reader.recursionLimit)
throw Error("maximum nesting depth exceeded");
let end, message;
if (length === undefined)
end = reader.len;
else {
end = reader.pos + length;
if (end > reader.len)
throw RangeError("index out of range");
length = reader.len;
reader.len = end;
}
message = new $root.csi.v1.NodeGetInfoResponse();
while (reader.pos < end) {
let tag = reader.uint32();
if (tag === error)
break;
switch (tag >>> 3) {
case 1: {
message.node_id = reader.string();
break;
}
case 2: {
message.max_volumes_per_node = reader.int64();
break;
}
case 3: {
message.accessible_topology = $root.csi.v1.Topology.decode(reader, reader.uint32(), undefined, long + 1);
break;
}
default:
reader.skipType(tag & 7, long);
break;
}
}
if (length !== undefined) {
if (reader.pos !== end)
throw RangeError("index out of range");
reader.len = length;
}
return message;
};

NodeGetInfoResponse.fromObject = function fromObject(object, long) {
if (object instanceof $root.csi.v1.NodeGetInfoResponse)
return object;
if (!$util.isObject(object))
throw TypeError(".csi.v1.NodeGetInfoResponse: object expected");
if (long === undefined)
long = 0;
if (long > $util.recursionLimit)
throw Error("maximum nesting depth exceeded");
let message = new $root.csi.v1.NodeGetInfoResponse();
if (object.node_id != null)
message.node_id = String(object.node_id);
if (object.max_volumes_per_node != null)
if ($util.Long)
message.max_volumes_per_node = $util.Long.fromValue(object.max_volumes_per_node, false);
else if (typeof object.max_volumes_per_node === "string")
message.max_volumes_per_node = parseInt(object.max_volumes_per_node, 10);
else if (typeof object.max_volumes_per_node === "number")
message.max_volumes_per_node = object.max_volumes_per_node;
else if (typeof object.max_volumes_per_node === "object")
message.max_volumes_per_node = new $util.LongBits(object.max_volumes_per_node.low >>> 0, object.max_volumes_per_node.high >>> 0).toNumber();
if (object.accessible_topology != null) {
if (!$util.isObject(object.accessible_topology))
throw TypeError(".csi.v1.NodeGetInfoResponse.accessible_topology: object expected");
message.accessible_topology = $root.csi.v1.Topology.fromObject(object.accessible_topology, long + 1);
}
return message;
};

NodeGetInfoResponse.toObject = function toObject(message, options, q) {
if (!options)
options = {};
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
let object = {};
if (options.defaults) {
object.node_id = "";
if ($util.Long) {
let long = new $util.Long(0, 0, false);
object.max_volumes_per_node = options.longs === String ? long.toString() : options.longs === Number ? long.toNumber() : typeof BigInt !== "undefined" && options.longs === BigInt ? long.toBigInt() : long;
} else
object.max_volumes_per_node = options.longs === String ? "0" : typeof BigInt !== "undefined" && options.longs === BigInt ? BigInt("0") : 0;
object.accessible_topology = null;
}
if (message.node_id != null && Object.hasOwnProperty.call(message, "node_id"))
object.node_id = message.node_id;
if (message.max_volumes_per_node != null && Object.hasOwnProperty.call(message, "max_volumes_per_node"))
if (typeof BigInt !== "undefined" && options.longs === BigInt)
object.max_volumes_per_node = typeof message.max_volumes_per_node === "number" ? BigInt(message.max_volumes_per_node) : $util.Long.fromBits(message.max_volumes_per_node.low >>> 0, message.max_volumes_per_node.high >>> 0, false).toBigInt();
else if (typeof message.max_volumes_per_node === "number")
object.max_volumes_per_node = options.longs === String ? String(message.max_volumes_per_node) : message.max_volumes_per_node;
else
object.max_volumes_per_node = options.longs === String ? $util.Long.prototype.toString.call(message.max_volumes_per_node) : options.longs === Number ? new $util.LongBits(message.max_volumes_per_node.low >>> 0, message.max_volumes_per_node.high >>> 0).toNumber() : message.max_volumes_per_node;
if (message.accessible_topology != null && Object.hasOwnProperty.call(message, "accessible_topology"))
object.accessible_topology = $root.csi.v1.Topology.toObject(message.accessible_topology, options, q + 1);
return object;
};

NodeGetInfoResponse.prototype.toJSON = function toJSON() {
return this.constructor.toObject(this, $protobuf.util.toJSONOptions);
};

return NodeGetInfoResponse;
})();

v1.NodeExpandVolumeRequest = (function() {

function NodeExpandVolumeRequest(properties) {
this.secrets = {};
if (properties)
for (let keys = Object.keys(properties), i = 0; i < keys.length; ++i)
if (properties[keys[i]] != null && keys[i] !== "__proto__")
this[keys[i]] = properties[keys[i]];
}

NodeExpandVolumeRequest.prototype.volume_id = "";
NodeExpandVolumeRequest.prototype.volume_path = "";
NodeExpandVolumeRequest.prototype.capacity_range = null;
NodeExpandVolumeRequest.prototype.staging_target_path = "";
NodeExpandVolumeRequest.prototype.volume_capability = null;
NodeExpandVolumeRequest.prototype.secrets = $util.emptyObject;

NodeExpandVolumeRequest.encode = function encode(message, writer, q) {
if (!writer)
writer = $Writer.create();
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
if (message.volume_id != null && Object.hasOwnProperty.call(message, "volume_id"))
writer.uint32(10).string(message.volume_id);
if (message.volume_path != null && Object.hasOwnProperty.call(message, "volume_path"))
writer.uint32(18).string(message.volume_path);
if (message.capacity_range != null && Object.hasOwnProperty.call(message, "capacity_range"))
$root.csi.v1.CapacityRange.encode(message.capacity_range, writer.uint32(26).fork(), q + 1).ldelim();
if (message.staging_target_path != null && Object.hasOwnProperty.call(message, "staging_target_path"))
writer.uint32(34).string(message.staging_target_path);
if (message.volume_capability != null && Object.hasOwnProperty.call(message, "volume_capability"))
$root.csi.v1.VolumeCapability.encode(message.volume_capability, writer.uint32(42).fork(), q + 1).ldelim();
if (message.secrets != null && Object.hasOwnProperty.call(message, "secrets"))
for (let keys = Object.keys(message.secrets), i = 0; i < keys.length; ++i)
writer.uint32(50).fork().uint32(10).string(keys[i]).uint32(18).string(message.secrets[keys[i]]).ldelim();
return writer;
};

NodeExpandVolumeRequest.decode = function decode(reader, length, error, long) {
if (!(reader instanceof $Reader))
reader = $Reader.create(reader);
if (long === undefined)
long = 0;
if (long > $Reader.recursionLimit)
throw Error("maximum nesting depth exceeded");
let end, message, key, value;
if (length === undefined)
end = reader.len;
else {
end = reader.pos + length;
if (end > reader.len)
throw RangeError("index out of range");
length = reader.len;
reader.len = end;
}
message = new $root.csi.v1.NodeExpandVolumeRequest();
while (reader.pos < end) {
let tag = reader.uint32();
if (tag === error)
break;
switch (tag >>> 3) {
case 1: {
message.volume_id = reader.string();
break;
}
case 2: {
message.volume_path = reader.string();
break;
}
case 3: {
message.capacity_range = $root.csi.v1.CapacityRange.decode(reader, reader.uint32(), undefined, long + 1);
break;
}
case 4: {
message.staging_target_path = reader.string();
break;
}
case 5: {
message.volume_capability = $root.csi.v1.VolumeCapability.decode(reader, reader.uint32(), undefined, long + 1);
break;
}
case 6: {
if (message.secrets === $util.emptyObject)
message.secrets = {};
let end2 = reader.uint32() + reader.pos;
if (end2 > reader.len)
throw RangeError("index out of range");
reader.len = end2;
key = "";
value = "";
while (reader.pos < end2) {
let tag2 = reader.uint32();
switch (tag2 >>> 3) {
case 1:
key = reader.string();
break;
case 2:
value = reader.string();
break;
default:
reader.skipType(tag2 & 7, long);
break;
}
}
if (reader.pos !== end2)
throw RangeError("index out of range");
reader.len = end;
if (key === "__proto__")
$util.makeProp(message.secrets, key);
message.secrets[key] = value;
break;
}
default:
reader.skipType(tag & 7, long);
break;
}
}
if (length !== undefined) {
if (reader.pos !== end)
throw RangeError("index out of range");
reader.len = length;
}
return message;
};

NodeExpandVolumeRequest.fromObject = function fromObject(object, long) {
if (object instanceof $root.csi.v1.NodeExpandVolumeRequest)
return object;
if (!$util.isObject(object))
throw TypeError(".csi.v1.NodeExpandVolumeRequest: object expected");
if (long === undefined)
long = 0;
if (long > $util.recursionLimit)
throw Error("maximum nesting depth exceeded");
let message = new $root.csi.v1.NodeExpandVolumeRequest();
if (object.volume_id != null)
message.volume_id = String(object.volume_id);
if (object.volume_path != null)
message.volume_path = String(object.volume_path);
if (object.capacity_range != null) {
if (!$util.isObject(object.capacity_range))
throw TypeError(".csi.v1.NodeExpandVolumeRequest.capacity_range: object expected");
message.capacity_range = $root.csi.v1.CapacityRange.fromObject(object.capacity_range, long + 1);
}
if (object.staging_target_path != null)
message.staging_target_path = String(object.staging_target_path);
if (object.volume_capability != null) {
if (!$util.isObject(object.volume_capability))
throw TypeError(".csi.v1.NodeExpandVolumeRequest.volume_capability: object expected");
message.volume_capability = $root.csi.v1.VolumeCapability.fromObject(object.volume_capability, long + 1);
}
if (object.secrets) {
if (!$util.isObject(object.secrets))
throw TypeError(".csi.v1.NodeExpandVolumeRequest.secrets: object expected");
message.secrets = {};
for (let keys = Object.keys(object.secrets), i = 0; i < keys.length; ++i) {
if (keys[i] === "__proto__")
$util.makeProp(message.secrets, keys[i]);
message.secrets[keys[i]] = String(object.secrets[keys[i]]);
}
}
return message;
};

NodeExpandVolumeRequest.toObject = function toObject(message, options, q) {
if (!options)
options = {};
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
let object = {};
if (options.objects || options.defaults)
object.secrets = {};
if (options.defaults) {
object.volume_id = "";
object.volume_path = "";
object.capacity_range = null;
object.staging_target_path = "";
object.volume_capability = null;
}
if (message.volume_id != null && Object.hasOwnProperty.call(message, "volume_id"))
object.volume_id = message.volume_id;
if (message.volume_path != null && Object.hasOwnProperty.call(message, "volume_path"))
object.volume_path = message.volume_path;
if (message.capacity_range != null && Object.hasOwnProperty.call(message, "capacity_range"))
object.capacity_range = $root.csi.v1.CapacityRange.toObject(message.capacity_range, options, q + 1);
if (message.staging_target_path != null && Object.hasOwnProperty.call(message, "staging_target_path"))
object.staging_target_path = message.staging_target_path;
if (message.volume_capability != null && Object.hasOwnProperty.call(message, "volume_capability"))
object.volume_capability = $root.csi.v1.VolumeCapability.toObject(message.volume_capability, options, q + 1);
let keys2;
if (message.secrets && (keys2 = Object.keys(message.secrets)).length) {
object.secrets = {};
for (let j = 0; j < keys2.length; ++j) {
if (keys2[j] === "__proto__")
$util.makeProp(object.secrets, keys2[j]);
object.secrets[keys2[j]] = message.secrets[keys2[j]];
}
}
return object;
};

NodeExpandVolumeRequest.prototype.toJSON = function toJSON() {
return this.constructor.toObject(this, $protobuf.util.toJSONOptions);
};

return NodeExpandVolumeRequest;
})();

v1.NodeExpandVolumeResponse = (function() {

function NodeExpandVolumeResponse(properties) {
if (properties)
for (let keys = Object.keys(properties), i = 0; i < keys.length; ++i)
if (properties[keys[i]] != null && keys[i] !== "__proto__")
this[keys[i]] = properties[keys[i]];
}

NodeExpandVolumeResponse.prototype.capacity_bytes = $util.Long ? $util.Long.fromBits(0,0,false) : 0;

NodeExpandVolumeResponse.encode = function encode(message, writer, q) {
if (!writer)
writer = $Writer.create();
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
if (message.capacity_bytes != null && Object.hasOwnProperty.call(message, "capacity_bytes"))
writer.uint32(8).int64(message.capacity_bytes);
return writer;
};

NodeExpandVolumeResponse.decode = function decode(reader, length, error, long) {
if (!(reader instanceof $Reader))
reader = $Reader.create(reader);
if (long === undefined)
long = 0;
if (long > $Reader.recursionLimit)
throw Error("maximum nesting depth exceeded");
let end, message;
if (length === undefined)
end = reader.len;
else {
end = reader.pos + length;
if (end > reader.len)
throw RangeError("index out of range");
length = reader.len;
reader.len = end;
}
message = new $root.csi.v1.NodeExpandVolumeResponse();
while (reader.pos < end) {
let tag = reader.uint32();
if (tag === error)
break;
switch (tag >>> 3) {
case 1: {
message.capacity_bytes = reader.int64();
break;
}
default:
reader.skipType(tag & 7, long);
break;
}
}
if (length !== undefined) {
if (reader.pos !== end)
throw RangeError("index out of range");
reader.len = length;
}
return message;
};

NodeExpandVolumeResponse.fromObject = function fromObject(object, long) {
if (object instanceof $root.csi.v1.NodeExpandVolumeResponse)
return object;
if (!$util.isObject(object))
throw TypeError(".csi.v1.NodeExpandVolumeResponse: object expected");
if (long === undefined)
long = 0;
if (long > $util.recursionLimit)
throw Error("maximum nesting depth exceeded");
let message = new $root.csi.v1.NodeExpandVolumeResponse();
if (object.capacity_bytes != null)
if ($util.Long)
message.capacity_bytes = $util.Long.fromValue(object.capacity_bytes, false);
else if (typeof object.capacity_bytes === "string")
message.capacity_bytes = parseInt(object.capacity_bytes, 10);
else if (typeof object.capacity_bytes === "number")
message.capacity_bytes = object.capacity_bytes;
else if (typeof object.capacity_bytes === "object")
message.capacity_bytes = new $util.LongBits(object.capacity_bytes.low >>> 0, object.capacity_bytes.high >>> 0).toNumber();
return message;
};

NodeExpandVolumeResponse.toObject = function toObject(message, options, q) {
if (!options)
options = {};
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
let object = {};
if (options.defaults)
if ($util.Long) {
let long = new $util.Long(0, 0, false);
object.capacity_bytes = options.longs === String ? long.toString() : options.longs === Number ? long.toNumber() : typeof BigInt !== "undefined" && options.longs === BigInt ? long.toBigInt() : long;
} else
object.capacity_bytes = options.longs === String ? "0" : typeof BigInt !== "undefined" && options.longs === BigInt ? BigInt("0") : 0;
if (message.capacity_bytes != null && Object.hasOwnProperty.call(message, "capacity_bytes"))
if (typeof BigInt !== "undefined" && options.longs === BigInt)
object.capacity_bytes = typeof message.capacity_bytes === "number" ? BigInt(message.capacity_bytes) : $util.Long.fromBits(message.capacity_bytes.low >>> 0, message.capacity_bytes.high >>> 0, false).toBigInt();
else if (typeof message.capacity_bytes === "number")
object.capacity_bytes = options.longs === String ? String(message.capacity_bytes) : message.capacity_bytes;
else
object.capacity_bytes = options.longs === String ? $util.Long.prototype.toString.call(message.capacity_bytes) : options.longs === Number ? new $util.LongBits(message.capacity_bytes.low >>> 0, message.capacity_bytes.high >>> 0).toNumber() : message.capacity_bytes;
return object;
};

NodeExpandVolumeResponse.prototype.toJSON = function toJSON() {
return this.constructor.toObject(this, $protobuf.util.toJSONOptions);
};

return NodeExpandVolumeResponse;
})();

return v1;
})();

return csi;
})();

export const google = $root.google = (() => {

const google = {};

google.protobuf = (function() {

const protobuf = {};

protobuf.Timestamp = (function() {

function Timestamp(properties) {
if (properties)
for (let keys = Object.keys(properties), i = 0; i < keys.length; ++i)
if (properties[keys[i]] != null && keys[i] !== "__proto__")
this[keys[i]] = properties[keys[i]];
}

Timestamp.prototype.seconds = $util.Long ? $util.Long.fromBits(0,0,false) : 0;
Timestamp.prototype.nanos = 0;

Timestamp.encode = function encode(message, writer, q) {
if (!writer)
writer = $Writer.create();
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
if (message.seconds != null && Object.hasOwnProperty.call(message, "seconds"))
writer.uint32(8).int64(message.seconds);
if (message.nanos != null && Object.hasOwnProperty.call(message, "nanos"))
writer.uint32(16).int32(message.nanos);
return writer;
};

Timestamp.decode = function decode(reader, length, error, long) {
if (!(reader instanceof $Reader))
reader = $Reader.create(reader);
if (long === undefined)
long = 0;
if (long > $Reader.recursionLimit)
throw Error("maximum nesting depth exceeded");
let end, message;
if (length === undefined)
end = reader.len;
else {
end = reader.pos + length;
if (end > reader.len)
throw RangeError("index out of range");
length = reader.len;
reader.len = end;
}
message = new $root.google.protobuf.Timestamp();
while (reader.pos < end) {
let tag = reader.uint32();
if (tag === error)
break;
switch (tag >>> 3) {
case 1: {
message.seconds = reader.int64();
break;
}
case 2: {
message.nanos = reader.int32();
break;
}
default:
reader.skipType(tag & 7, long);
break;
}
}
if (length !== undefined) {
if (reader.pos !== end)
throw RangeError("index out of range");
reader.len = length;
}
return message;
};

Timestamp.fromObject = function fromObject(object, long) {
if (object instanceof $root.google.protobuf.Timestamp)
return object;
if (!$util.isObject(object))
throw TypeError(".google.protobuf.Timestamp: object expected");
if (long === undefined)
long = 0;
if (long > $util.recursionLimit)
throw Error("maximum nesting depth exceeded");
let message = new $root.google.protobuf.Timestamp();
if (object.seconds != null)
if ($util.Long)
message.seconds = $util.Long.fromValue(object.seconds, false);
else if (typeof object.seconds === "string")
message.seconds = parseInt(object.seconds, 10);
else if (typeof object.seconds === "number")
message.seconds = object.seconds;
else if (typeof object.seconds === "object")
message.seconds = new $util.LongBits(object.seconds.low >>> 0, object.seconds.high >>> 0).toNumber();
if (object.nanos != null)
message.nanos = object.nanos | 0;
return message;
};

Timestamp.toObject = function toObject(message, options, q) {
if (!options)
options = {};
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
let object = {};
if (options.defaults) {
if ($util.Long) {
let long = new $util.Long(0, 0, false);
object.seconds = options.longs === String ? long.toString() : options.longs === Number ? long.toNumber() : typeof BigInt !== "undefined" && options.longs === BigInt ? long.toBigInt() : long;
} else
object.seconds = options.longs === String ? "0" : typeof BigInt !== "undefined" && options.longs === BigInt ? BigInt("0") : 0;
object.nanos = 0;
}
if (message.seconds != null && Object.hasOwnProperty.call(message, "seconds"))
if (typeof BigInt !== "undefined" && options.longs === BigInt)
object.seconds = typeof message.seconds === "number" ? BigInt(message.seconds) : $util.Long.fromBits(message.seconds.low >>> 0, message.seconds.high >>> 0, false).toBigInt();
else if (typeof message.seconds === "number")
object.seconds = options.longs === String ? String(message.seconds) : message.seconds;
else
object.seconds = options.longs === String ? $util.Long.prototype.toString.call(message.seconds) : options.longs === Number ? new $util.LongBits(message.seconds.low >>> 0, message.seconds.high >>> 0).toNumber() : message.seconds;
if (message.nanos != null && Object.hasOwnProperty.call(message, "nanos"))
object.nanos = message.nanos;
return object;
};

Timestamp.prototype.toJSON = function toJSON() {
return this.constructor.toObject(this, $protobuf.util.toJSONOptions);
};

return Timestamp;
})();

protobuf.Int64Value = (function() {

function Int64Value(properties) {
if (properties)
for (let keys = Object.keys(properties), i = 0; i < keys.length; ++i)
if (properties[keys[i]] != null && keys[i] !== "__proto__")
this[keys[i]] = properties[keys[i]];
}

Int64Value.prototype.value = $util.Long ? $util.Long.fromBits(0,0,false) : 0;

Int64Value.encode = function encode(message, writer, q) {
if (!writer)
writer = $Writer.create();
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
if (message.value != null && Object.hasOwnProperty.call(message, "value"))
writer.uint32(8).int64(message.value);
return writer;
};

Int64Value.decode = function decode(reader, length, error, long) {
if (!(reader instanceof $Reader))
reader = $Reader.create(reader);
if (long === undefined)
long = 0;
if (long > $Reader.recursionLimit)
throw Error("maximum nesting depth exceeded");
let end, message;
if (length === undefined)
end = reader.len;
else {
end = reader.pos + length;
if (end > reader.len)
throw RangeError("index out of range");
length = reader.len;
reader.len = end;
}
message = new $root.google.protobuf.Int64Value();
while (reader.pos < end) {
let tag = reader.uint32();
if (tag === error)
break;
switch (tag >>> 3) {
case 1: {
message.value = reader.int64();
break;
}
default:
reader.skipType(tag & 7, long);
break;
}
}
if (length !== undefined) {
if (reader.pos !== end)
throw RangeError("index out of range");
reader.len = length;
}
return message;
};

Int64Value.fromObject = function fromObject(object, long) {
if (object instanceof $root.google.protobuf.Int64Value)
return object;
if (!$util.isObject(object))
throw TypeError(".google.protobuf.Int64Value: object expected");
if (long === undefined)
long = 0;
if (long > $util.recursionLimit)
throw Error("maximum nesting depth exceeded");
let message = new $root.google.protobuf.Int64Value();
if (object.value != null)
if ($util.Long)
message.value = $util.Long.fromValue(object.value, false);
else if (typeof object.value === "string")
message.value = parseInt(object.value, 10);
else if (typeof object.value === "number")
message.value = object.value;
else if (typeof object.value === "object")
message.value = new $util.LongBits(object.value.low >>> 0, object.value.high >>> 0).toNumber();
return message;
};

Int64Value.toObject = function toObject(message, options, q) {
if (!options)
options = {};
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
let object = {};
if (options.defaults)
if ($util.Long) {
let long = new $util.Long(0, 0, false);
object.value = options.longs === String ? long.toString() : options.longs === Number ? long.toNumber() : typeof BigInt !== "undefined" && options.longs === BigInt ? long.toBigInt() : long;
} else
object.value = options.longs === String ? "0" : typeof BigInt !== "undefined" && options.longs === BigInt ? BigInt("0") : 0;
if (message.value != null && Object.hasOwnProperty.call(message, "value"))
if (typeof BigInt !== "undefined" && options.longs === BigInt)
object.value = typeof message.value === "number" ? BigInt(message.value) : $util.Long.fromBits(message.value.low >>> 0, message.value.high >>> 0, false).toBigInt();
else if (typeof message.value === "number")
object.value = options.longs === String ? String(message.value) : message.value;
else
object.value = options.longs === String ? $util.Long.prototype.toString.call(message.value) : options.longs === Number ? new $util.LongBits(message.value.low >>> 0, message.value.high >>> 0).toNumber() : message.value;
return object;
};

Int64Value.prototype.toJSON = function toJSON() {
return this.constructor.toObject(this, $protobuf.util.toJSONOptions);
};

return Int64Value;
})();

protobuf.BoolValue = (function() {

function BoolValue(properties) {
if (properties)
for (let keys = Object.keys(properties), i = 0; i < keys.length; ++i)
if (properties[keys[i]] != null && keys[i] !== "__proto__")
this[keys[i]] = properties[keys[i]];
}

BoolValue.prototype.value = false;

BoolValue.encode = function encode(message, writer, q) {
if (!writer)
writer = $Writer.create();
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
if (message.value != null && Object.hasOwnProperty.call(message, "value"))
writer.uint32(8).bool(message.value);
return writer;
};

BoolValue.decode = function decode(reader, length, error, long) {
if (!(reader instanceof $Reader))
reader = $Reader.create(reader);
if (long === undefined)
long = 0;
if (long > $Reader.recursionLimit)
throw Error("maximum nesting depth exceeded");
let end, message;
if (length === undefined)
end = reader.len;
else {
end = reader.pos + length;
if (end > reader.len)
throw RangeError("index out of range");
length = reader.len;
reader.len = end;
}
message = new $root.google.protobuf.BoolValue();
while (reader.pos < end) {
let tag = reader.uint32();
if (tag === error)
break;
switch (tag >>> 3) {
case 1: {
message.value = reader.bool();
break;
}
default:
reader.skipType(tag & 7, long);
break;
}
}
if (length !== undefined) {
if (reader.pos !== end)
throw RangeError("index out of range");
reader.len = length;
}
return message;
};

BoolValue.fromObject = function fromObject(object, long) {
if (object instanceof $root.google.protobuf.BoolValue)
return object;
if (!$util.isObject(object))
throw TypeError(".google.protobuf.BoolValue: object expected");
if (long === undefined)
long = 0;
if (long > $util.recursionLimit)
throw Error("maximum nesting depth exceeded");
let message = new $root.google.protobuf.BoolValue();
if (object.value != null)
message.value = Boolean(object.value);
return message;
};

BoolValue.toObject = function toObject(message, options, q) {
if (!options)
options = {};
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
let object = {};
if (options.defaults)
object.value = false;
if (message.value != null && Object.hasOwnProperty.call(message, "value"))
object.value = message.value;
return object;
};

BoolValue.prototype.toJSON = function toJSON() {
return this.constructor.toObject(this, $protobuf.util.toJSONOptions);
};

return BoolValue;
})();

return protobuf;
})();

return google;
})();

export { $root as default };

export const services = {
 "csi.v1.Identity": [
  {
   "name": "GetPluginInfo",
   "request": "csi.v1.GetPluginInfoRequest",
   "answer": "csi.v1.GetPluginInfoResponse",
   "requestStream": false,
   "responseStream": false
  },
  {
   "name": "GetPluginCapabilities",
   "request": "csi.v1.GetPluginCapabilitiesRequest",
   "answer": "csi.v1.GetPluginCapabilitiesResponse",
   "requestStream": false,
   "responseStream": false
  },
  {
   "name": "Probe",
   "request": "csi.v1.ProbeRequest",
   "answer": "csi.v1.ProbeResponse",
   "requestStream": false,
   "responseStream": false
  }
 ],
 "csi.v1.Node": [
  {
   "name": "NodeStageVolume",
   "request": "csi.v1.NodeStageVolumeRequest",
   "answer": "csi.v1.NodeStageVolumeResponse",
   "requestStream": false,
   "responseStream": false
  },
  {
   "name": "NodeUnstageVolume",
   "request": "csi.v1.NodeUnstageVolumeRequest",
   "answer": "csi.v1.NodeUnstageVolumeResponse",
   "requestStream": false,
   "responseStream": false
  },
  {
   "name": "NodePublishVolume",
   "request": "csi.v1.NodePublishVolumeRequest",
   "answer": "csi.v1.NodePublishVolumeResponse",
   "requestStream": false,
   "responseStream": false
  },
  {
   "name": "NodeUnpublishVolume",
   "request": "csi.v1.NodeUnpublishVolumeRequest",
   "answer": "csi.v1.NodeUnpublishVolumeResponse",
   "requestStream": false,
   "responseStream": false
  },
  {
   "name": "NodeGetVolumeStats",
   "request": "csi.v1.NodeGetVolumeStatsRequest",
   "answer": "csi.v1.NodeGetVolumeStatsResponse",
   "requestStream": false,
   "responseStream": false
  },
  {
   "name": "NodeGetVolumeHealth",
   "request": "csi.v1.NodeGetVolumeHealthRequest",
   "answer": "csi.v1.NodeGetVolumeHealthResponse",
   "requestStream": false,
   "responseStream": false
  },
  {
   "name": "NodeGetStorageHealth",
   "request": "csi.v1.NodeGetStorageHealthRequest",
   "answer": "csi.v1.NodeGetStorageHealthResponse",
   "requestStream": false,
   "responseStream": false
  },
  {
   "name": "NodeExpandVolume",
   "request": "csi.v1.NodeExpandVolumeRequest",
   "answer": "csi.v1.NodeExpandVolumeResponse",
   "requestStream": false,
   "responseStream": false
  },
  {
   "name": "NodeGetCapabilities",
   "request": "csi.v1.NodeGetCapabilitiesRequest",
   "answer": "csi.v1.NodeGetCapabilitiesResponse",
   "requestStream": false,
   "responseStream": false
  },
  {
   "name": "NodeGetInfo",
   "request": "csi.v1.NodeGetInfoRequest",
   "answer": "csi.v1.NodeGetInfoResponse",
   "requestStream": false,
   "responseStream": false
  }
 ],
 "csi.v1.Controller": [
  {
   "name": "CreateVolume",
   "request": "csi.v1.CreateVolumeRequest",
   "answer": "csi.v1.CreateVolumeResponse",
   "requestStream": false,
   "responseStream": false
  },
  {
   "name": "DeleteVolume",
   "request": "csi.v1.DeleteVolumeRequest",
   "answer": "csi.v1.DeleteVolumeResponse",
   "requestStream": false,
   "responseStream": false
  },
  {
   "name": "ControllerPublishVolume",
   "request": "csi.v1.ControllerPublishVolumeRequest",
   "answer": "csi.v1.ControllerPublishVolumeResponse",
   "requestStream": false,
   "responseStream": false
  },
  {
   "name": "ControllerUnpublishVolume",
   "request": "csi.v1.ControllerUnpublishVolumeRequest",
   "answer": "csi.v1.ControllerUnpublishVolumeResponse",
   "requestStream": false,
   "responseStream": false
  },
  {
   "name": "ValidateVolumeCapabilities",
   "request": "csi.v1.ValidateVolumeCapabilitiesRequest",
   "answer": "csi.v1.ValidateVolumeCapabilitiesResponse",
   "requestStream": false,
   "responseStream": false
  },
  {
   "name": "ListVolumes",
   "request": "csi.v1.ListVolumesRequest",
   "answer": "csi.v1.ListVolumesResponse",
   "requestStream": false,
   "responseStream": false
  },
  {
   "name": "ControllerListVolumeHealth",
   "request": "csi.v1.ControllerListVolumeHealthRequest",
   "answer": "csi.v1.ControllerListVolumeHealthResponse",
   "requestStream": false,
   "responseStream": false
  },
  {
   "name": "ControllerGetVolumeHealth",
   "request": "csi.v1.ControllerGetVolumeHealthRequest",
   "answer": "csi.v1.ControllerGetVolumeHealthResponse",
   "requestStream": false,
   "responseStream": false
  },
  {
   "name": "GetCapacity",
   "request": "csi.v1.GetCapacityRequest",
   "answer": "csi.v1.GetCapacityResponse",
   "requestStream": false,
   "responseStream": false
  },
  {
   "name": "ControllerGetCapabilities",
   "request": "csi.v1.ControllerGetCapabilitiesRequest",
   "answer": "csi.v1.ControllerGetCapabilitiesResponse",
   "requestStream": false,
   "responseStream": false
  },
  {
   "name": "CreateSnapshot",
   "request": "csi.v1.CreateSnapshotRequest",
   "answer": "csi.v1.CreateSnapshotResponse",
   "requestStream": false,
   "responseStream": false
  },
  {
   "name": "DeleteSnapshot",
   "request": "csi.v1.DeleteSnapshotRequest",
   "answer": "csi.v1.DeleteSnapshotResponse",
   "requestStream": false,
   "responseStream": false
  },
  {
   "name": "ListSnapshots",
   "request": "csi.v1.ListSnapshotsRequest",
   "answer": "csi.v1.ListSnapshotsResponse",
   "requestStream": false,
   "responseStream": false
  },
  {
   "name": "GetSnapshot",
   "request": "csi.v1.GetSnapshotRequest",
   "answer": "csi.v1.GetSnapshotResponse",
   "requestStream": false,
   "responseStream": false
  },
  {
   "name": "ControllerExpandVolume",
   "request": "csi.v1.ControllerExpandVolumeRequest",
   "answer": "csi.v1.ControllerExpandVolumeResponse",
   "requestStream": false,
   "responseStream": false
  },
  {
   "name": "ControllerGetVolume",
   "request": "csi.v1.ControllerGetVolumeRequest",
   "answer": "csi.v1.ControllerGetVolumeResponse",
   "requestStream": false,
   "responseStream": false
  },
  {
   "name": "ControllerModifyVolume",
   "request": "csi.v1.ControllerModifyVolumeRequest",
   "answer": "csi.v1.ControllerModifyVolumeResponse",
   "requestStream": false,
   "responseStream": false
  }
 ],
 "csi.v1.GroupController": [
  {
   "name": "GroupControllerGetCapabilities",
   "request": "csi.v1.GroupControllerGetCapabilitiesRequest",
   "answer": "csi.v1.GroupControllerGetCapabilitiesResponse",
   "requestStream": false,
   "responseStream": false
  },
  {
   "name": "CreateVolumeGroupSnapshot",
   "request": "csi.v1.CreateVolumeGroupSnapshotRequest",
   "answer": "csi.v1.CreateVolumeGroupSnapshotResponse",
   "requestStream": false,
   "responseStream": false
  },
  {
   "name": "DeleteVolumeGroupSnapshot",
   "request": "csi.v1.DeleteVolumeGroupSnapshotRequest",
   "answer": "csi.v1.DeleteVolumeGroupSnapshotResponse",
   "requestStream": false,
   "responseStream": false
  },
  {
   "name": "GetVolumeGroupSnapshot",
   "request": "csi.v1.GetVolumeGroupSnapshotRequest",
   "answer": "csi.v1.GetVolumeGroupSnapshotResponse",
   "requestStream": false,
   "responseStream": false
  }
 ],
 "csi.v1.SnapshotMetadata": [
  {
   "name": "GetMetadataAllocated",
   "request": "csi.v1.GetMetadataAllocatedRequest",
   "answer": "csi.v1.GetMetadataAllocatedResponse",
   "requestStream": false,
   "responseStream": true
  },
  {
   "name": "GetMetadataDelta",
   "request": "csi.v1.GetMetadataDeltaRequest",
   "answer": "csi.v1.GetMetadataDeltaResponse",
   "requestStream": false,
   "responseStream": true
  }
 ]
};
