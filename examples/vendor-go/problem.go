package main

import "fmt"

// Problem is an error of the Storage API: a code from its table, and a text for people.
type Problem struct {
	Code   string
	Detail string
}

func (p *Problem) Error() string { return p.Detail }

func problemf(code, format string, values ...any) *Problem {
	return &Problem{code, fmt.Sprintf(format, values...)}
}

// statuses are the HTTP statuses of the codes that this server uses.
var statuses = map[string]int{
	"INVALID_ARGUMENT": 400, "UNAUTHENTICATED": 401, "NOT_FOUND": 404, "ALREADY_EXISTS": 409,
	"ABORTED": 409, "FAILED_PRECONDITION": 409, "OUT_OF_RANGE": 416, "UNIMPLEMENTED": 501,
	"UNAVAILABLE": 503, "RESOURCE_EXHAUSTED": 507,
}
