/* A stand-in for the NVIDIA driver's library: it answers what a script says.
 *
 * The script is the file that STAND_IN_SCRIPT names, read anew at each call. A line is a key and its values,
 * one a call, the last of them for good:
 *
 *     gpus 2
 *     0.energy 1000 6000      millijoules: 1000 at the first call, 6000 from the second on
 *     0.memory 20000 !15      bytes, then NVML_ERROR_GPU_IS_LOST
 *     0.memory_reserved 500   how many of them the driver reserves
 *     0.memory_v2 !13         a driver that does not tell these apart
 *     0.processes self,4242   a list; `self` is the process that asks, `none` nobody
 *
 * What has no line is not supported (3). Without a script there is no driver (9).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { OK = 0, INVALID = 2, NOT_SUPPORTED = 3, NOT_FOUND = 6, TOO_SMALL = 7, NO_DRIVER = 9, OTHER_VERSION = 25 };
enum { MOST_KEYS = 128, LINE = 1024 };

typedef struct { int index; int part; } Gpu;
typedef struct { unsigned int pid; unsigned long long memory; unsigned int gpu, compute; } Process;
typedef struct { unsigned long long total, free, used; } Memory;
typedef struct { unsigned int version; unsigned long long total, reserved, free, used; } Memory2;
typedef struct { unsigned int gpu, memory; } Use;
typedef struct { char legacy[16]; unsigned int domain, bus, device, id, subsystem; char bus_id[32]; } Pci;

static Gpu gpus[8] = {{0, 0}, {1, 0}, {2, 0}, {3, 0}, {4, 0}, {5, 0}, {6, 0}, {7, 0}};
static Gpu parts[8] = {{0, 1}, {1, 1}, {2, 1}, {3, 1}, {4, 1}, {5, 1}, {6, 1}, {7, 1}};
static char asked[MOST_KEYS][64];
static int calls[MOST_KEYS];

/* Whether this is another script than at the last call: it begins at its first values. */
static void begin(FILE *script) {
    static ino_t last;
    struct stat now;
    if (fstat(fileno(script), &now) || now.st_ino == last) return;
    last = now.st_ino;
    memset(asked, 0, sizeof asked);
    memset(calls, 0, sizeof calls);
}

/* How often this key was asked for before. */
static int turn(const char *key) {
    for (int i = 0; i < MOST_KEYS; i++) {
        if (!asked[i][0]) snprintf(asked[i], sizeof asked[i], "%s", key);
        if (!strcmp(asked[i], key)) return calls[i]++;
    }
    return 0;
}

/* Finds the value of a key for this call; OK, or the error that stands in its place. */
static int told(const char *key, char *value) {
    const char *name = getenv("STAND_IN_SCRIPT");
    FILE *script = name ? fopen(name, "r") : NULL;
    if (!script) return NO_DRIVER;
    begin(script);
    char line[LINE];
    int found = NOT_SUPPORTED;
    while (fgets(line, sizeof line, script)) {
        char *rest, *word = strtok_r(line, " \n", &rest);
        if (!word || strcmp(word, key)) continue;
        int wanted = turn(key);
        for (int i = 0; i <= wanted && (word = strtok_r(NULL, " \n", &rest)); i++) {
            snprintf(value, LINE, "%s", word);
            found = OK;
        }
        break;
    }
    fclose(script);
    return found == OK && value[0] == '!' ? atoi(value + 1) : found;
}

static int told_of(const Gpu *gpu, const char *what, char *value) {
    char key[64];
    snprintf(key, sizeof key, gpu->part ? "part%d.%s" : "%d.%s", gpu->index, what);
    return told(key, value);
}

static int number(const Gpu *gpu, const char *what, unsigned long long *answer) {
    char value[LINE];
    int result = told_of(gpu, what, value);
    if (result == OK) *answer = strtoull(value, NULL, 0);
    return result;
}

static int number32(const Gpu *gpu, const char *what, unsigned int *answer) {
    unsigned long long wide;
    int result = number(gpu, what, &wide);
    if (result == OK) *answer = (unsigned int)wide;
    return result;
}

static int text(const Gpu *gpu, const char *what, char *answer, unsigned int size) {
    char value[LINE];
    int result = told_of(gpu, what, value);
    if (result == OK) snprintf(answer, size, "%s", value);
    for (char *c = answer; result == OK && *c; c++) if (*c == '_') *c = ' ';
    return result;
}

static int processes(const Gpu *gpu, const char *what, unsigned int *count, Process *list) {
    /* The library is asked twice: how many, then which; the second answer has to be of the same call. */
    static char value[LINE];
    static int result;
    if (!list) result = told_of(gpu, what, value);
    if (result != OK) return result;
    char copy[LINE], *rest, *word;
    snprintf(copy, sizeof copy, "%s", value);
    unsigned int number = 0, room = list ? *count : 0;
    for (word = strtok_r(copy, ",", &rest); word; word = strtok_r(NULL, ",", &rest)) {
        if (!strcmp(word, "none")) continue;
        if (number < room) {
            memset(&list[number], 0, sizeof list[number]);
            list[number].pid = strcmp(word, "self") ? (unsigned int)atoi(word) : (unsigned int)getpid();
        }
        number++;
    }
    *count = number;
    return number > room ? TOO_SMALL : OK;
}

int nvmlInitWithFlags(unsigned int flags) {
    char value[LINE];
    (void)flags;
    int result = told("init", value);
    return result == NOT_SUPPORTED ? OK : result;
}
int nvmlShutdown(void) { return OK; }
const char *nvmlErrorString(int code) { (void)code; return "scripted"; }

int nvmlSystemGetDriverVersion(char *version, unsigned int size) {
    char value[LINE];
    int result = told("driver", value);
    if (result == OK) snprintf(version, size, "%s", value);
    return result;
}
int nvmlSystemGetCudaDriverVersion_v2(int *version) {
    char value[LINE];
    int result = told("cuda", value);
    if (result == OK) *version = atoi(value);
    return result;
}
int nvmlDeviceGetCount_v2(unsigned int *count) {
    char value[LINE];
    int result = told("gpus", value);
    if (result == OK) *count = (unsigned int)atoi(value);
    return result;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned int index, Gpu **gpu) {
    if (index >= 8) return INVALID;
    *gpu = &gpus[index];
    return OK;
}
int nvmlDeviceGetHandleByUUID(const char *uuid, Gpu **gpu) {
    char key[16], value[LINE];
    for (int i = 0; i < 8; i++) {
        snprintf(key, sizeof key, "part%d.uuid", i);
        if (told(key, value) == OK && !strcmp(value, uuid)) { *gpu = &parts[i]; return OK; }
    }
    return NOT_FOUND;
}
int nvmlDeviceGetDeviceHandleFromMigDeviceHandle(Gpu *part, Gpu **gpu) { *gpu = &gpus[part->index]; return OK; }
int nvmlDeviceGetMaxMigDeviceCount(Gpu *gpu, unsigned int *count) { (void)gpu; *count = 7; return OK; }
int nvmlDeviceGetMigDeviceHandleByIndex(Gpu *gpu, unsigned int index, Gpu **part) {
    char value[LINE];
    if (index || told_of(&parts[gpu->index], "uuid", value) != OK) return NOT_FOUND;
    *part = &parts[gpu->index];
    return OK;
}
int nvmlDeviceGetIndex(Gpu *gpu, unsigned int *index) { *index = (unsigned int)gpu->index; return OK; }
int nvmlDeviceGetName(Gpu *gpu, char *name, unsigned int size) { return text(gpu, "name", name, size); }
int nvmlDeviceGetUUID(Gpu *gpu, char *uuid, unsigned int size) { return text(gpu, "uuid", uuid, size); }
int nvmlDeviceGetVbiosVersion(Gpu *gpu, char *version, unsigned int size) {
    return text(gpu, "vbios", version, size);
}
int nvmlDeviceGetPciInfo_v3(Gpu *gpu, Pci *pci) {
    memset(pci, 0, sizeof *pci);
    return text(gpu, "pci", pci->bus_id, sizeof pci->bus_id);
}
int nvmlDeviceGetMemoryInfo(Gpu *gpu, Memory *memory) {
    unsigned long long total = 0;
    number(gpu, "memory_total", &total);
    int result = number(gpu, "memory", &memory->used);
    memory->total = total ? total : memory->used;
    memory->free = memory->total - memory->used;
    return result;
}
int nvmlDeviceGetMemoryInfo_v2(Gpu *gpu, Memory2 *memory) {
    char value[LINE];
    if (memory->version != (2u << 24 | sizeof *memory)) return OTHER_VERSION;
    int result = told_of(gpu, "memory_v2", value);
    if (result != NOT_SUPPORTED) return result;
    Memory all;
    result = nvmlDeviceGetMemoryInfo(gpu, &all);
    memory->total = all.total;
    memory->free = all.free;
    memory->reserved = 0;
    number(gpu, "memory_reserved", &memory->reserved);
    memory->used = all.used - memory->reserved;
    return result;
}
int nvmlDeviceGetUtilizationRates(Gpu *gpu, Use *use) {
    use->memory = 0;
    return number32(gpu, "use", &use->gpu);
}
int nvmlDeviceGetClockInfo(Gpu *gpu, unsigned int kind, unsigned int *mhz) {
    return number32(gpu, kind == 1 ? "clock" : "clock_memory", mhz);
}
int nvmlDeviceGetMaxClockInfo(Gpu *gpu, unsigned int kind, unsigned int *mhz) {
    return number32(gpu, kind == 1 ? "clock_most" : "clock_memory_most", mhz);
}
int nvmlDeviceGetTemperature(Gpu *gpu, unsigned int sensor, unsigned int *celsius) {
    (void)sensor;
    return number32(gpu, "temperature", celsius);
}
int nvmlDeviceGetCurrentClocksEventReasons(Gpu *gpu, unsigned long long *reasons) {
    return number(gpu, "reasons", reasons);
}
int nvmlDeviceGetCurrentClocksThrottleReasons(Gpu *gpu, unsigned long long *reasons) {
    return number(gpu, "reasons_old", reasons);
}
int nvmlDeviceGetTotalEnergyConsumption(Gpu *gpu, unsigned long long *millijoules) {
    return number(gpu, "energy", millijoules);
}
int nvmlDeviceGetPowerUsage(Gpu *gpu, unsigned int *milliwatts) { return number32(gpu, "power", milliwatts); }
int nvmlDeviceGetEnforcedPowerLimit(Gpu *gpu, unsigned int *milliwatts) {
    return number32(gpu, "power_limit", milliwatts);
}
int nvmlDeviceGetPowerManagementDefaultLimit(Gpu *gpu, unsigned int *milliwatts) {
    return number32(gpu, "power_limit_default", milliwatts);
}
int nvmlDeviceGetPersistenceMode(Gpu *gpu, unsigned int *mode) { return number32(gpu, "persistence", mode); }
int nvmlDeviceGetEccMode(Gpu *gpu, unsigned int *now, unsigned int *later) {
    int result = number32(gpu, "ecc", now);
    if (result == OK) *later = *now;
    return result;
}
int nvmlDeviceGetMigMode(Gpu *gpu, unsigned int *now, unsigned int *later) {
    int result = number32(gpu, "mig", now);
    if (result == OK) *later = *now;
    return result;
}
int nvmlDeviceGetComputeRunningProcesses_v3(Gpu *gpu, unsigned int *count, Process *list) {
    return processes(gpu, "processes", count, list);
}
int nvmlDeviceGetGraphicsRunningProcesses_v3(Gpu *gpu, unsigned int *count, Process *list) {
    return processes(gpu, "desktop", count, list);
}
