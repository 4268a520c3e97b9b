/* What only a oneDNN with the THREADPOOL runtime exports. */
#include "oneapi/dnnl/dnnl_threadpool.h"
