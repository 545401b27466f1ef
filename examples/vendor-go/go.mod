module example.com/vendor-go

go 1.23
