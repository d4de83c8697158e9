/* CPU device, collective communication: what its files share. Nothing here leaves
 * libhccl.
 *
 * The way up: errors and settings (error.c), addresses and sockets (net.c), where links
 * come in (endpoint.c), another rank's memory (direct.c), the link between two ranks
 * (link.c), the steps of which every communication consists (steps.c), reductions
 * (reduce.c, folds.inc), collectives (collect.c), how ranks find each other
 * (rendezvous.c, rank_table.c), communicators (comm.c, sub_comm.c), tasks on streams
 * (task.c), what operators call (operators.c), HCCL's functions (init.c, calls.c,
 * messages.c, config.c, refused.c).
 */
#ifndef ASN_DEVICE_HCCL_INTERNAL_H
#define ASN_DEVICE_HCCL_INTERNAL_H

#include <netinet/in.h>
#include <sys/un.h>

#include "base/alloc.h"
#include "device/acl/asnrt.h"
#include "hccl/hccl.h"

static inline size_t hccl_least(size_t a, size_t b) {
    return a < b ? a : b;
}

/* ---- errors and settings (error.c) */

/* Sets the thread's message, as aclGetRecentErrMsg returns it, and returns `code`. */
HcclResult hccl_fail(HcclResult code, const char *format, ...)
    __attribute__((format(printf, 2, 3), cold));
/* Seconds of an environment variable, `otherwise` where it is not a number >= 0. */
int64_t hccl_seconds(const char *variable, int64_t otherwise);
int64_t hccl_now(void); /* nanoseconds since an arbitrary start */

#define HCCL_TRY(expr)                                                                   \
    do {                                                                                 \
        HcclResult try_code_ = (expr);                                                   \
        if (__builtin_expect(try_code_ != HCCL_SUCCESS, 0)) return try_code_;            \
    } while (0)
#define HCCL_CHECK_NOT_NULL(function, parameter)                                         \
    do {                                                                                 \
        if ((parameter) == NULL)                                                         \
            return hccl_fail(HCCL_E_PTR, "%s: %s is NULL", function, #parameter);        \
    } while (0)

/* ---- addresses and sockets (net.c) */

/* Where a rank listens: a name that the processes of one machine share, and TCP. */
typedef struct {
    char machine[64]; /* equal where shared memory can be passed */
    char name[48];    /* of the listening local socket */
    uint32_t ip;      /* in network order */
    uint16_t port;    /* in network order */
    uint16_t pad;
} hccl_address;

/* The address by which other machines reach this one (HCCL_IF_IP, HCCL_SOCKET_IFNAME,
 * else the first interface that is no loopback, else the loopback). */
HcclResult hccl_own_ip(uint32_t *ip);
void hccl_own_machine(char machine[64]);
uint64_t hccl_random(void);
/* Listening sockets; -1 with the thread's message set. port 0: any, told through it. */
int hccl_listen_local(const char *name);
int hccl_listen_tcp(uint32_t ip, uint16_t *port);
/* Connected sockets, tried until the deadline; -1 with the thread's message set. */
int hccl_connect_local(const char *name, int64_t deadline);
int hccl_connect_tcp(uint32_t ip, uint16_t port, int64_t deadline);
/* All of it, until the deadline; message set on failure. */
HcclResult hccl_write(int fd, const void *data, size_t size, int64_t deadline);
HcclResult hccl_read(int fd, void *data, size_t size, int64_t deadline);
HcclResult hccl_write_fd(int fd, int passed);
HcclResult hccl_read_fd(int fd, int *passed, int64_t deadline);

/* ---- endpoints (endpoint.c): where a process accepts the links of a rank */

typedef struct hccl_endpoint hccl_endpoint;
hccl_endpoint *hccl_endpoint_new(hccl_address *address); /* NULL: message set */
hccl_endpoint *hccl_endpoint_share(hccl_endpoint *endpoint);
void hccl_endpoint_free(hccl_endpoint *endpoint);
void hccl_endpoint_forget(hccl_endpoint *endpoint); /* in the child of a fork */
/* The connection that rank `rank` of communicator `key` made, and whether over a local
 * socket; -1: message set. */
int hccl_endpoint_accept(hccl_endpoint *endpoint, uint64_t key, uint32_t rank,
                         int64_t deadline, bool *local);
int hccl_endpoint_connect(const hccl_address *to, bool local, uint64_t key, uint32_t rank,
                          int64_t deadline);

/* ---- reading another rank's memory (direct.c) */

/* Of one side of a link, in the memory that both share. */
typedef struct {
    _Atomic int32_t pid;    /* 0: nothing is offered yet */
    _Atomic uint32_t reads; /* whether this side can read the other one's memory */
    uint64_t address, word; /* what the other side reads to find out */
    _Atomic uint64_t got;   /* messages that this side has read */
} hccl_direct;
void hccl_direct_offer(hccl_direct *mine, const uint64_t *word); /* which stays */
void hccl_direct_try(hccl_direct *mine, const hccl_direct *other);
bool hccl_direct_reads(const hccl_direct *side);
size_t hccl_direct_read(int32_t pid, uint64_t from, void *to, size_t size);

/* ---- links (link.c) */

/* What goes ahead of a message, so that two ranks whose calls do not fit together are
 * told instead of exchanging nonsense. */
typedef struct {
    uint32_t kind; /* an hccl_kind */
    uint32_t direct;
    uint64_t size;    /* of the message, in bytes */
    uint64_t address; /* direct: where the sender has it */
    uint64_t pad;     /* to a multiple of the largest element */
} hccl_header;

typedef struct hccl_link hccl_link;
struct hccl_step;
/* Both ends call it, with the same `local`; `first` on one side, which makes the memory.
 * Takes the socket. NULL: message set. */
hccl_link *hccl_link_new(int socket, bool local, bool first, int64_t deadline);
void hccl_link_free(hccl_link *link);
void hccl_link_forget(hccl_link *link); /* in the child of a fork */
int hccl_link_socket(const hccl_link *link);
/* Without waiting: what was taken or given, 0 where the other side is not so far. */
size_t hccl_link_push(hccl_link *link, const void *data, size_t size);
size_t hccl_link_pull(hccl_link *link, void *data, size_t size);
/* Bytes that have arrived, as they lie: a multiple of `unit`, at most `size`. */
const void *hccl_link_peek(hccl_link *link, size_t unit, size_t size, size_t *there);
void hccl_link_take(hccl_link *link, size_t size);
/* Whether a message of this size is read by the receiver from the sender's memory. */
bool hccl_link_is_direct(hccl_link *link, size_t size);
/* A header was sent, or has arrived; has the receiver of the last one read it? */
void hccl_link_offered(hccl_link *link);
void hccl_link_begins(hccl_link *link, const hccl_header *header);
bool hccl_link_was_read(hccl_link *link);
void hccl_link_sent(hccl_link *link); /* at the end of a message */
void hccl_link_received(hccl_link *link);
/* Before the caller sleeps on the socket, and after. */
void hccl_link_doze(hccl_link *link);
void hccl_link_wake(hccl_link *link, short events);
bool hccl_link_dead(const hccl_link *link);  /* the other end is gone */
bool hccl_link_local(const hccl_link *link); /* over shared memory */
/* Of the step that sends or receives on the link now. */
struct hccl_step **hccl_link_owner(hccl_link *link, bool sends);
bool hccl_link_blocked(const hccl_link *link); /* sleep until it takes more, too */

/* ---- reductions (reduce.c) */

size_t hccl_dtype_size(HcclDataType dtype); /* 0: unknown */
bool hccl_dtype_reduces(HcclDataType dtype);
/* out = a op b; out may be a or b. */
typedef void (*hccl_fold)(void *out, const void *a, const void *b, size_t count);
/* acc (float32) = b, or acc = acc op b; and back. */
typedef void (*hccl_widen)(float *acc, const void *b, size_t count);
typedef void (*hccl_narrow)(void *out, const float *acc, size_t count);
typedef struct {
    size_t size;
    hccl_fold fold;
    /* For three and more halves, whose sum is rounded once; NULL for the others. */
    hccl_widen store, add;
    hccl_narrow narrow;
} hccl_reduction;
hccl_reduction hccl_reduction_of(HcclDataType dtype, HcclReduceOp op);

/* ---- steps (steps.c) */

/* What a message says it belongs to: ranks whose calls differ are told so. */
typedef enum {
    HCCL_KIND_P2P = 0x48434c01,
    HCCL_KIND_ALL_REDUCE,
    HCCL_KIND_BROADCAST,
    HCCL_KIND_REDUCE_SCATTER,
    HCCL_KIND_ALL_GATHER,
    HCCL_KIND_REDUCE,
    HCCL_KIND_SCATTER,
    HCCL_KIND_ALL_TO_ALL,
    HCCL_KIND_BARRIER
} hccl_kind;

typedef enum { HCCL_STEP_SEND, HCCL_STEP_RECV, HCCL_STEP_FOLD } hccl_step_what;

/* One message, or, of a reduction, one rank's share of it: what rank `peer` sends, or
 * what lies at `from` (peer: the own rank). */
typedef struct hccl_step {
    hccl_step_what what;
    uint32_t peer;
    size_t size;
    void *to;                /* of what is received or reduced; float32 where wide */
    const void *from;        /* of what is sent, or the own share */
    const void *left;        /* of a reduction: to = left op share; NULL: to = share */
    struct hccl_step *after; /* begins when that one is done; NULL: at once */
    /* The state. */
    size_t done, header_done;
    hccl_header header;
    bool began, ended;
} hccl_step;

typedef struct hccl_comm hccl_comm;
/* Does all of them, as far as each can go at any time. The order of the steps with one
 * peer is the order of their messages. HCCL_E_AGAIN: patience is at an end; called again,
 * it goes on. */
HcclResult hccl_run_steps(hccl_comm *comm, hccl_kind kind, const hccl_reduction *r,
                          bool wide, hccl_step *steps, uint32_t count);

/* ---- communicators (comm.c) */

/* A place in the order of a communicator's calls (task.c). */
typedef struct hccl_turn {
    struct hccl_turn *next;
    bool queued;
} hccl_turn;
typedef struct hccl_plan hccl_plan; /* collect.c */
enum { HCCL_PIECE = 512 << 10 };    /* bytes that a rank reduces at once */

struct hccl_comm {
    _Atomic int32_t references;
    uint32_t size, rank;
    uint64_t key;
    char name[COMM_NAME_MAX_LENGTH];
    int32_t device;          /* that was current when it was made; -1: none */
    int64_t exec_ns;         /* without progress until a task fails; 0: for ever */
    hccl_address *addresses; /* of every rank; owned */
    hccl_endpoint *endpoint; /* shared with communicators made of this one */
    hccl_link **links;       /* one per rank, NULL for the own; owned */
    hccl_step *steps;        /* room for 4 * size + 4; of the task that runs */
    void *scratch;           /* 2 * HCCL_PIECE bytes; of the task that runs */
    hccl_plan *plan;         /* of the task that runs; owned */
    int64_t patience;        /* until when it may spin; 0: it may sleep */
    _Atomic int32_t error;   /* HcclResult of the first task that failed */
    _Atomic bool ending;     /* HcclCommDestroy waits */
    pthread_mutex_t lock;    /* turns */
    pthread_cond_t turned;
    hccl_turn *first, *last;
};

/* Resolves a handle and takes a reference; NULL: message set. */
hccl_comm *hccl_comm_get(const char *function, HcclComm handle, HcclResult *code);
void hccl_comm_release(hccl_comm *comm);
/* The communicator of this name, with a reference: of several, as those of one process's
 * devices are, the one of the current device. NULL: message set. */
hccl_comm *hccl_comm_named(const char *name);
/* Checked options of a configuration that may be NULL. */
typedef struct {
    char name[COMM_NAME_MAX_LENGTH]; /* "": none */
    int64_t exec_seconds;            /* -1: as the environment says */
} hccl_options;
extern const hccl_options hccl_no_options;
HcclResult hccl_options_get(const char *function, const HcclCommConfig *config,
                            hccl_options *options);
/* Connects the ranks whose addresses are known. Shares the endpoint, takes the
 * addresses. */
HcclResult hccl_comm_connect(uint64_t key, uint32_t size, uint32_t rank,
                             hccl_address *addresses, hccl_endpoint *endpoint,
                             const hccl_options *options, int64_t deadline,
                             HcclComm *out);

/* ---- rendezvous (rendezvous.c) */

/* How a rank finds the others: rank 0's server, local or TCP. */
typedef struct {
    uint32_t magic; /* HCCL_ROOT_MAGIC */
    uint32_t ip;    /* in network order; 0: local, by name */
    uint16_t port;  /* in network order */
    uint16_t pad;
    uint32_t pad2;
    uint64_t key;
    char name[64];
} hccl_root;
enum { HCCL_ROOT_MAGIC = 0x48434c20 };
/* Begins to serve one communicator's ranks: at this machine's address with a new key; and
 * where the root says, for all machines or (ip 0) for this one. */
HcclResult hccl_root_new(hccl_root *root);
HcclResult hccl_root_open(const hccl_root *root);
HcclResult hccl_root_join(const hccl_root *root, uint32_t size, uint32_t rank,
                          const hccl_options *options, HcclComm *out);

/* ---- rank tables (rank_table.c) */

typedef struct {
    uint32_t ranks, servers;
    uint32_t ip;   /* of rank 0's machine, network order; 0: none is told */
    uint64_t hash; /* of the file */
} hccl_rank_table;
HcclResult hccl_rank_table_read(const char *function, const char *path,
                                hccl_rank_table *table);

/* ---- tasks (collect.c, task.c, messages.c) */

typedef struct {
    const char *function;
    hccl_kind kind;
    bool sends; /* of P2P */
    const void *from;
    void *to;
    uint64_t count; /* of elements */
    size_t unit;    /* bytes of one */
    HcclDataType dtype;
    HcclReduceOp op;
    uint32_t peer; /* or root */
    /* By rank, in elements; owned, NULL: count of each, one after the other. */
    uint64_t *send_counts, *send_at, *recv_counts, *recv_at;
    size_t recv_unit;
} hccl_call;

/* Does a call of one of the collectives, or calls of P2P together. */
HcclResult hccl_do_call(hccl_comm *comm, const hccl_call *call);
HcclResult hccl_do_messages(hccl_comm *comm, const hccl_call *calls, uint32_t count);
/* One list of short messages, which may end with HCCL_E_AGAIN where the communicator has
 * no patience to wait, and then be resumed. */
bool hccl_call_is_short(const hccl_comm *comm, const hccl_call *call);
HcclResult hccl_resume_call(hccl_comm *comm);
size_t hccl_plan_size(void);
void hccl_call_fini(hccl_call *call);
/* Queues the calls as one task; takes a reference of `comm` and the calls' arrays, also
 * when it fails. */
HcclResult hccl_task_launch(hccl_comm *comm, aclrtStream stream, const hccl_call *calls,
                            uint32_t count);
void hccl_turns_wait(hccl_comm *comm); /* until no task is left */
void hccl_turn_take(hccl_comm *comm, hccl_turn *turn);
void hccl_turn_wait(hccl_comm *comm, hccl_turn *turn); /* takes one that was not taken */
void hccl_turn_end(hccl_comm *comm, hccl_turn *turn);
/* Every later call fails, on the other ranks too. */
void hccl_comm_break(hccl_comm *comm, HcclResult code);
/* Launches, or keeps for the end of the thread's group. Takes as hccl_task_launch. */
HcclResult hccl_group_launch(hccl_comm *comm, aclrtStream stream, const hccl_call *calls,
                             uint32_t count);
HcclResult hccl_group_failed(HcclResult code); /* noted for HcclGroupEnd; code */

#endif
