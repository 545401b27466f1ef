// Generated from proto/csi.proto. Do not edit.
/*eslint-disable block-scoped-var, id-length, no-control-regex, no-magic-numbers, no-prototype-builtins, no-redeclare, no-shadow, no-var, sort-vars*/
import $protobuf from "protobufjs/minimal.js";

const $Reader = $protobuf.Reader, $Writer = $protobuf.Writer, $util = $protobuf.util;

const $root = $protobuf.roots["node"] || ($protobuf.roots["node"] = {});

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
 ]
};
