package main

import (
	"context"
	"fmt"

	"github.com/open-feature/go-sdk-contrib/providers/ofrep"
	"github.com/open-feature/go-sdk/openfeature"
)

func main() {
	openfeature.SetProviderAndWait(ofrep.NewProvider("http://127.0.0.1:8420"))
	tenant := openfeature.NewEvaluationContext("t1", nil)
	on, _ := openfeature.NewClient("shop").BooleanValue(context.Background(), "ui/banner", false, tenant)
	fmt.Println(on)
}
