// Generated from proto/pluginregistration.proto. Do not edit.
/*eslint-disable block-scoped-var, id-length, no-control-regex, no-magic-numbers, no-prototype-builtins, no-redeclare, no-shadow, no-var, sort-vars*/
import $protobuf from "protobufjs/minimal.js";

const $Reader = $protobuf.Reader, $Writer = $protobuf.Writer, $util = $protobuf.util;

const $root = $protobuf.roots["pluginregistration"] || ($protobuf.roots["pluginregistration"] = {});

export const pluginregistration = $root.pluginregistration = (() => {

const pluginregistration = {};

pluginregistration.InfoRequest = (function() {

function InfoRequest(properties) {
if (properties)
for (let keys = Object.keys(properties), i = 0; i < keys.length; ++i)
if (properties[keys[i]] != null && keys[i] !== "__proto__")
this[keys[i]] = properties[keys[i]];
}

InfoRequest.encode = function encode(message, writer, q) {
if (!writer)
writer = $Writer.create();
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
return writer;
};

InfoRequest.decode = function decode(reader, length, error, long) {
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
message = new $root.pluginregistration.InfoRequest();
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

InfoRequest.fromObject = function fromObject(object, long) {
if (object instanceof $root.pluginregistration.InfoRequest)
return object;
return new $root.pluginregistration.InfoRequest();
};

InfoRequest.toObject = function toObject() {
return {};
};

InfoRequest.prototype.toJSON = function toJSON() {
return this.constructor.toObject(this, $protobuf.util.toJSONOptions);
};

return InfoRequest;
})();

pluginregistration.PluginInfo = (function() {

function PluginInfo(properties) {
this.supported_versions = [];
if (properties)
for (let keys = Object.keys(properties), i = 0; i < keys.length; ++i)
if (properties[keys[i]] != null && keys[i] !== "__proto__")
this[keys[i]] = properties[keys[i]];
}

PluginInfo.prototype.type = "";
PluginInfo.prototype.name = "";
PluginInfo.prototype.endpoint = "";
PluginInfo.prototype.supported_versions = $util.emptyArray;

PluginInfo.encode = function encode(message, writer, q) {
if (!writer)
writer = $Writer.create();
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
if (message.type != null && Object.hasOwnProperty.call(message, "type"))
writer.uint32(10).string(message.type);
if (message.name != null && Object.hasOwnProperty.call(message, "name"))
writer.uint32(18).string(message.name);
if (message.endpoint != null && Object.hasOwnProperty.call(message, "endpoint"))
writer.uint32(26).string(message.endpoint);
if (message.supported_versions != null && message.supported_versions.length)
for (let i = 0; i < message.supported_versions.length; ++i)
writer.uint32(34).string(message.supported_versions[i]);
return writer;
};

PluginInfo.decode = function decode(reader, length, error, long) {
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
message = new $root.pluginregistration.PluginInfo();
while (reader.pos < end) {
let tag = reader.uint32();
if (tag === error)
break;
switch (tag >>> 3) {
case 1: {
message.type = reader.string();
break;
}
case 2: {
message.name = reader.string();
break;
}
case 3: {
message.endpoint = reader.string();
break;
}
case 4: {
if (!(message.supported_versions && message.supported_versions.length))
message.supported_versions = [];
message.supported_versions.push(reader.string());
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

PluginInfo.fromObject = function fromObject(object, long) {
if (object instanceof $root.pluginregistration.PluginInfo)
return object;
if (!$util.isObject(object))
throw TypeError(".pluginregistration.PluginInfo: object expected");
if (long === undefined)
long = 0;
if (long > $util.recursionLimit)
throw Error("maximum nesting depth exceeded");
let message = new $root.pluginregistration.PluginInfo();
if (object.type != null)
message.type = String(object.type);
if (object.name != null)
message.name = String(object.name);
if (object.endpoint != null)
message.endpoint = String(object.endpoint);
if (object.supported_versions) {
if (!Array.isArray(object.supported_versions))
throw TypeError(".pluginregistration.PluginInfo.supported_versions: array expected");
message.supported_versions = [];
for (let i = 0; i < object.supported_versions.length; ++i)
message.supported_versions[i] = String(object.supported_versions[i]);
}
return message;
};

PluginInfo.toObject = function toObject(message, options, q) {
if (!options)
options = {};
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
let object = {};
if (options.arrays || options.defaults)
object.supported_versions = [];
if (options.defaults) {
object.type = "";
object.name = "";
object.endpoint = "";
}
if (message.type != null && Object.hasOwnProperty.call(message, "type"))
object.type = message.type;
if (message.name != null && Object.hasOwnProperty.call(message, "name"))
object.name = message.name;
if (message.endpoint != null && Object.hasOwnProperty.call(message, "endpoint"))
object.endpoint = message.endpoint;
if (message.supported_versions && message.supported_versions.length) {
object.supported_versions = [];
for (let j = 0; j < message.supported_versions.length; ++j)
object.supported_versions[j] = message.supported_versions[j];
}
return object;
};

PluginInfo.prototype.toJSON = function toJSON() {
return this.constructor.toObject(this, $protobuf.util.toJSONOptions);
};

return PluginInfo;
})();

pluginregistration.RegistrationStatus = (function() {

function RegistrationStatus(properties) {
if (properties)
for (let keys = Object.keys(properties), i = 0; i < keys.length; ++i)
if (properties[keys[i]] != null && keys[i] !== "__proto__")
this[keys[i]] = properties[keys[i]];
}

RegistrationStatus.prototype.plugin_registered = false;
RegistrationStatus.prototype.error = "";

RegistrationStatus.encode = function encode(message, writer, q) {
if (!writer)
writer = $Writer.create();
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
if (message.plugin_registered != null && Object.hasOwnProperty.call(message, "plugin_registered"))
writer.uint32(8).bool(message.plugin_registered);
if (message.error != null && Object.hasOwnProperty.call(message, "error"))
writer.uint32(18).string(message.error);
return writer;
};

RegistrationStatus.decode = function decode(reader, length, error, long) {
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
message = new $root.pluginregistration.RegistrationStatus();
while (reader.pos < end) {
let tag = reader.uint32();
if (tag === error)
break;
switch (tag >>> 3) {
case 1: {
message.plugin_registered = reader.bool();
break;
}
case 2: {
message.error = reader.string();
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

RegistrationStatus.fromObject = function fromObject(object, long) {
if (object instanceof $root.pluginregistration.RegistrationStatus)
return object;
if (!$util.isObject(object))
throw TypeError(".pluginregistration.RegistrationStatus: object expected");
if (long === undefined)
long = 0;
if (long > $util.recursionLimit)
throw Error("maximum nesting depth exceeded");
let message = new $root.pluginregistration.RegistrationStatus();
if (object.plugin_registered != null)
message.plugin_registered = Boolean(object.plugin_registered);
if (object.error != null)
message.error = String(object.error);
return message;
};

RegistrationStatus.toObject = function toObject(message, options, q) {
if (!options)
options = {};
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
let object = {};
if (options.defaults) {
object.plugin_registered = false;
object.error = "";
}
if (message.plugin_registered != null && Object.hasOwnProperty.call(message, "plugin_registered"))
object.plugin_registered = message.plugin_registered;
if (message.error != null && Object.hasOwnProperty.call(message, "error"))
object.error = message.error;
return object;
};

RegistrationStatus.prototype.toJSON = function toJSON() {
return this.constructor.toObject(this, $protobuf.util.toJSONOptions);
};

return RegistrationStatus;
})();

pluginregistration.RegistrationStatusResponse = (function() {

function RegistrationStatusResponse(properties) {
if (properties)
for (let keys = Object.keys(properties), i = 0; i < keys.length; ++i)
if (properties[keys[i]] != null && keys[i] !== "__proto__")
this[keys[i]] = properties[keys[i]];
}

RegistrationStatusResponse.encode = function encode(message, writer, q) {
if (!writer)
writer = $Writer.create();
if (q === undefined)
q = 0;
if (q > $util.recursionLimit)
throw Error("max depth exceeded");
return writer;
};

RegistrationStatusResponse.decode = function decode(reader, length, error, long) {
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
message = new $root.pluginregistration.RegistrationStatusResponse();
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

RegistrationStatusResponse.fromObject = function fromObject(object, long) {
if (object instanceof $root.pluginregistration.RegistrationStatusResponse)
return object;
return new $root.pluginregistration.RegistrationStatusResponse();
};

RegistrationStatusResponse.toObject = function toObject() {
return {};
};

RegistrationStatusResponse.prototype.toJSON = function toJSON() {
return this.constructor.toObject(this, $protobuf.util.toJSONOptions);
};

return RegistrationStatusResponse;
})();

return pluginregistration;
})();

export { $root as default };

export const services = {
 "pluginregistration.Registration": [
  {
   "name": "GetInfo",
   "request": "pluginregistration.InfoRequest",
   "answer": "pluginregistration.PluginInfo",
   "requestStream": false,
   "responseStream": false
  },
  {
   "name": "NotifyRegistrationStatus",
   "request": "pluginregistration.RegistrationStatus",
   "answer": "pluginregistration.RegistrationStatusResponse",
   "requestStream": false,
   "responseStream": false
  }
 ]
};
