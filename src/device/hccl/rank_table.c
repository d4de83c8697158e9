/* CPU device, collective communication: rank tables.
 *
 * The JSON file that lists the servers and their devices:
 *
 *     {"status": "completed", "version": "1.0", "server_count": "2", "server_list": [
 *         {"server_id": "node_0", "host_ip": "172.16.0.100", "device": [
 *             {"device_id": "0", "device_ip": "192.168.1.8", "rank_id": "0"}]}, ...]}
 *
 * Of it the ranks and the servers count, and the address of the one with rank 0: its
 * host_ip, else its server_id where that is an address, else its device's. Everything
 * else is read over.
 */
#include "device/hccl/internal.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

enum { DEEPEST = 32, WORD = 64, MOST_RANKS = 1 << 15, LARGEST_FILE = 16 << 20 };

typedef struct {
    const char *at, *end;
    hccl_rank_table *table;
    uint8_t *seen; /* by rank */
    uint32_t highest;
    bool completed;
    /* Of the server that is being read. */
    uint32_t host_ip, server_ip, device_ip;
    bool has_rank_0;
} parser;

/* JSON's white space. */
static void skip_space(parser *p) {
    while (p->at < p->end && isspace((unsigned char)*p->at))
        p->at++;
}

/* Takes the character if it is the next one. */
static bool eat(parser *p, char c) {
    skip_space(p);
    if (p->at >= p->end || *p->at != c) return false;
    p->at++;
    return true;
}

/* A string or a bare word (a number, true); cut to WORD - 1. */
static bool word(parser *p, char out[WORD]) {
    size_t n = 0;
    bool quoted = eat(p, '"');
    while (p->at < p->end &&
           (quoted ? *p->at != '"'
                   : strchr("-+.", *p->at) != NULL || isalnum((unsigned char)*p->at))) {
        if (quoted && *p->at == '\\' && p->at + 1 < p->end) p->at++;
        if (n < WORD - 1) out[n++] = *p->at;
        p->at++;
    }
    out[n] = 0;
    if (quoted) return eat(p, '"');
    return n > 0;
}

/* A rank's number; false where the text is none. */
static bool rank_seen(parser *p, const char *text) {
    char *end;
    unsigned long rank = strtoul(text, &end, 10);
    if (*text == 0 || *end != 0 || rank >= MOST_RANKS || p->seen[rank]) return false;
    p->seen[rank] = 1;
    p->table->ranks++;
    if (rank > p->highest) p->highest = (uint32_t)rank;
    if (rank == 0) p->has_rank_0 = true;
    return true;
}

/* An address that is none is left out: not every table has one. */
static void address_seen(uint32_t *ip, const char *text) {
    uint32_t value;
    if (*ip == 0 && inet_pton(AF_INET, text, &value) == 1) *ip = value;
}

/* The members that matter here; all others are skipped, as newer tables have more. */
static bool known(parser *p, const char *key, const char *value) {
    if (strcmp(key, "status") == 0) p->completed = strcmp(value, "completed") == 0;
    if (strcmp(key, "host_ip") == 0) address_seen(&p->host_ip, value);
    if (strcmp(key, "server_id") == 0) address_seen(&p->server_ip, value);
    if (strcmp(key, "device_ip") == 0) address_seen(&p->device_ip, value);
    return strcmp(key, "rank_id") != 0 || rank_seen(p, value);
}

/* The address of the server is rank 0's if rank 0 was in it. */
static void server_end(parser *p) {
    p->table->servers++;
    if (p->has_rank_0 && p->table->ip == 0) {
        uint32_t own = p->host_ip ? p->host_ip : p->server_ip;
        p->table->ip = own ? own : p->device_ip;
    }
    p->host_ip = p->server_ip = p->device_ip = 0;
    p->has_rank_0 = false;
}

/* A value that stands under `key`, in an array's case each of its elements. */
static bool value(parser *p, const char *key, int depth) {
    char text[WORD];
    if (depth > DEEPEST) return false;
    if (eat(p, '{')) {
        if (!eat(p, '}')) {
            do {
                if (!word(p, text) || !eat(p, ':') || !value(p, text, depth + 1))
                    return false;
            } while (eat(p, ','));
            if (!eat(p, '}')) return false;
        }
        if (strcmp(key, "server_list") == 0) server_end(p);
        return true;
    }
    if (eat(p, '[')) {
        if (eat(p, ']')) return true;
        do {
            if (!value(p, key, depth + 1)) return false;
        } while (eat(p, ','));
        return eat(p, ']');
    }
    return word(p, text) && known(p, key, text);
}

/* The whole text, with a message that says what is missing. */
static HcclResult parse(const char *function, const char *path, const char *text,
                        size_t size, hccl_rank_table *table) {
    parser p = {text, text + size, table, asn_calloc(MOST_RANKS, 1), 0, false, 0,
                0,    0,           false};
    if (p.seen == NULL)
        return hccl_fail(HCCL_E_MEMORY, "%s: no memory for a rank table", function);
    bool good = value(&p, "", 0);
    skip_space(&p);
    good = good && p.at == p.end;
    asn_free(p.seen);
    if (!good)
        return hccl_fail(
            HCCL_E_PARA,
            "%s: %.256s is no rank table: wrong at byte %zu, or a rank_id is "
            "no number or there twice",
            function, path, (size_t)(p.at - text));
    if (!p.completed)
        return hccl_fail(HCCL_E_PARA, "%s: the status of %.256s is not \"completed\"",
                         function, path);
    if (table->ranks == 0 || p.highest + 1 != table->ranks)
        return hccl_fail(
            HCCL_E_PARA,
            "%s: %.256s has %u ranks, the highest of which is %u; server_list "
            "must number them from 0",
            function, path, table->ranks, p.highest);
    return HCCL_SUCCESS;
}

/* The hash covers every byte: ranks with different files do not meet. */
HcclResult hccl_rank_table_read(const char *function, const char *path,
                                hccl_rank_table *table) {
    memset(table, 0, sizeof *table);
    FILE *file = fopen(path, "re");
    long size = -1;
    if (file != NULL && fseek(file, 0, SEEK_END) == 0) size = ftell(file);
    char *text = size > 0 && size < LARGEST_FILE ? asn_malloc((size_t)size) : NULL;
    bool read = text != NULL && fseek(file, 0, SEEK_SET) == 0 &&
                fread(text, 1, (size_t)size, file) == (size_t)size;
    if (file != NULL) fclose(file);
    HcclResult code = HCCL_E_OPEN_FILE_FAILURE;
    if (read) {
        table->hash = 0xcbf29ce484222325;
        for (long i = 0; i < size; i++)
            table->hash = (table->hash ^ (unsigned char)text[i]) * 0x100000001b3;
        code = parse(function, path, text, (size_t)size, table);
    } else {
        (void)hccl_fail(code, "%s: %.256s cannot be read", function, path);
    }
    asn_free(text);
    return code;
}
