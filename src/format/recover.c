/* Recovers the rows of a damaged file page by page: https://www.sqlite.org/fileformat2.html. */
#include "format/recover.h"

#include "base/no_fork.h"
#include "format/rows/table.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define HEADER_SIZE 100
#define LEAF        0x0d
#define LEAF_HEADER 8
#define PAYLOAD_MAX ((uint64_t)1 << 20)
#define PAGE_MAX    65536u

typedef struct scan {
    int file;
    uint32_t page_size;
    uint32_t usable; /* bytes of a page */
    sqlite3 *db;
    sqlite3_stmt *inserts[JM_TABLE_COUNT];
    unsigned char *payload; /* PAYLOAD_MAX */
    jm__recovery *recovery;
} scan;

typedef struct bytes {
    const unsigned char *at;
    const unsigned char *end;
} bytes;

/* ---- numbers */

static uint64_t big_endian(const unsigned char *at, size_t count)
{
    uint64_t value = 0;
    for (size_t i = 0; i < count; i++)
        value = value << 8 | at[i];
    return value;
}

static bool read_varint(bytes *from, uint64_t *value)
{
    *value = 0;
    for (int i = 0; i < 9 && from->at < from->end; i++) {
        unsigned char byte = *from->at++;
        if (i == 8) {
            *value = *value << 8 | byte;
            return true;
        }
        *value = *value << 7 | (byte & 0x7f);
        if ((byte & 0x80) == 0) return true;
    }
    return false;
}

static size_t size_of_type(uint64_t type)
{
    static const size_t sizes[] = {0, 1, 2, 3, 4, 6, 8, 8, 0, 0, 0, 0};
    return type < 12 ? sizes[type] : (size_t)((type - 12) / 2);
}

static int64_t integer_of(uint64_t type, const unsigned char *at)
{
    if (type >= 8) return (int64_t)type - 8; /* the constants 0 and 1 */
    size_t size = size_of_type(type);
    unsigned shift = 64 - 8 * (unsigned)size;
    return (int64_t)(big_endian(at, size) << shift) >> shift;
}

static double real_of(const unsigned char *at)
{
    uint64_t bits = big_endian(at, 8);
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* ---- records */

typedef struct record {
    int count;
    uint64_t types[JM_COLUMNS_MAX];
    const unsigned char *values[JM_COLUMNS_MAX];
} record;

static bool read_record(const unsigned char *payload, uint64_t size, record *out)
{
    bytes header = {payload, payload + size};
    uint64_t header_size, type;
    if (!read_varint(&header, &header_size) || header_size > size) return false;
    header.end = payload + header_size;
    const unsigned char *value = payload + header_size;
    out->count = 0;
    while (header.at < header.end) {
        if (out->count == JM_COLUMNS_MAX || !read_varint(&header, &type)) return false;
        if (type == 10 || type == 11 || size_of_type(type) > (size_t)(payload + size - value)) return false;
        out->types[out->count] = type;
        out->values[out->count++] = value;
        value += size_of_type(type);
    }
    return true;
}

static bool fits(const jm__column *column, uint64_t type)
{
    bool null = type == 0, integer = (type >= 1 && type <= 6) || type == 8 || type == 9;
    if (column->kind == JM_COLUMN_ROW_ID) return null; /* the rowid is stored beside the record */
    if (null) return !column->required;
    switch (column->kind) {
    case JM_COLUMN_REAL: /* SQLite stores whole numbers as integers */
        return integer || type == 7;
    case JM_COLUMN_NUMBER:
        return integer || type == 7 || (type >= 13 && type % 2 == 1);
    case JM_COLUMN_CHARS:
    case JM_COLUMN_TEXT:
    case JM_COLUMN_WORD:
    case JM_COLUMN_DERIVED:
        return type >= 13 && type % 2 == 1;
    case JM_COLUMN_BLOB:
        return type >= 12 && type % 2 == 0;
    default:
        return integer;
    }
}

static bool is_row_of(const record *row, const jm__table *table, int version)
{
    int column = 0;
    for (size_t i = 0; i < table->column_count; i++) {
        if (!jm__column_in(&table->columns[i], version)) continue;
        if (column == row->count || !fits(&table->columns[i], row->types[column])) return false;
        column++;
    }
    return column == row->count;
}

/* JM_TABLE_COUNT: no table of ours */
static int table_of(const record *row, int version)
{
    int table = 0;
    while (table < JM_TABLE_COUNT &&
           (jm__tables[table].since > version || !is_row_of(row, &jm__tables[table], version)))
        table++;
    return table;
}

static void bind(sqlite3_stmt *insert, int column, uint64_t type, const unsigned char *value)
{
    if (type == 0)
        sqlite3_bind_null(insert, column);
    else if (type == 7)
        sqlite3_bind_double(insert, column, real_of(value));
    else if (type < 12)
        sqlite3_bind_int64(insert, column, integer_of(type, value));
    else if (type % 2 == 0)
        sqlite3_bind_blob(insert, column, value, (int)size_of_type(type), SQLITE_STATIC);
    else
        sqlite3_bind_text(insert, column, (const char *)value, (int)size_of_type(type), SQLITE_STATIC);
}

static int insert_row(scan *s, int64_t rowid, const record *row)
{
    int table = table_of(row, (int)s->recovery->format.version);
    if (table == JM_TABLE_COUNT) return SQLITE_OK; /* a table of SQLite itself */
    sqlite3_stmt *insert = s->inserts[table];
    for (int column = 0; column < row->count; column++)
        bind(insert, column + 1, row->types[column], row->values[column]);
    if (jm__tables[table].columns[0].kind == JM_COLUMN_ROW_ID) sqlite3_bind_int64(insert, 1, rowid);
    int rc = sqlite3_step(insert);
    sqlite3_reset(insert);
    if (rc == SQLITE_DONE) return SQLITE_OK;
    if ((rc & 0xff) != SQLITE_CONSTRAINT) return rc;
    s->recovery->broken++;
    return SQLITE_OK;
}

/* ---- pages */

static bool read_page(const scan *s, uint64_t number, unsigned char *page)
{
    return number >= 1 &&
           pread(s->file, page, s->page_size, (off_t)((number - 1) * s->page_size)) == (ssize_t)s->page_size;
}

/* A row that does not fit into its page continues in overflow pages, each of which points to the next. */
static bool read_overflow(const scan *s, uint64_t next, uint64_t done, uint64_t size)
{
    unsigned char page[PAGE_MAX];
    while (done < size) {
        if (!read_page(s, next, page)) return false;
        uint64_t part = size - done < s->usable - 4 ? size - done : s->usable - 4;
        memcpy(s->payload + done, page + 4, part);
        done += part;
        next = big_endian(page, 4);
    }
    return true;
}

/* One row: its size, rowid and content. False if it is broken. */
static bool read_cell(scan *s, const unsigned char *page, uint32_t offset, int *rc)
{
    bytes from = {page + offset, page + s->usable};
    uint64_t size, rowid;
    record row;
    if (!read_varint(&from, &size) || !read_varint(&from, &rowid) || size > PAYLOAD_MAX) return false;
    uint64_t most = s->usable - 35, local = size;
    if (size > most) {
        uint64_t least = (s->usable - 12) * 32 / 255 - 23;
        local = least + (size - least) % (s->usable - 4);
        if (local > most) local = least;
    }
    if (local + (local < size ? 4 : 0) > (uint64_t)(from.end - from.at)) return false;
    memcpy(s->payload, from.at, local);
    if (local < size && !read_overflow(s, big_endian(from.at + local, 4), local, size)) return false;
    if (!read_record(s->payload, size, &row)) return false;
    *rc = insert_row(s, (int64_t)rowid, &row);
    return true;
}

static int read_leaf(scan *s, const unsigned char *page)
{
    int rc = SQLITE_OK;
    uint32_t count = (uint32_t)big_endian(page + 3, 2);
    for (uint32_t i = 0; i < count && rc == SQLITE_OK; i++) {
        uint32_t pointer = LEAF_HEADER + 2 * i;
        if (pointer + 2 > s->usable) break;
        uint32_t offset = (uint32_t)big_endian(page + pointer, 2);
        if (offset >= s->usable || !read_cell(s, page, offset, &rc)) s->recovery->broken++;
    }
    return rc;
}

/* The first page holds only the schema. */
static int read_pages(scan *s)
{
    static const uint64_t first = 2;
    unsigned char page[PAGE_MAX];
    int rc = SQLITE_OK;
    uint64_t count = (uint64_t)s->recovery->size / s->page_size;
    for (uint64_t number = first; number <= count && rc == SQLITE_OK; number++) {
        jm__no_fork_pass();
        if (!read_page(s, number, page))
            s->recovery->broken++;
        else if (page[0] == LEAF)
            rc = read_leaf(s, page);
    }
    return rc;
}

/* ---- the whole */

static jm_status read_header(scan *s, const char *path, jm_error *err)
{
    unsigned char header[HEADER_SIZE];
    struct stat info;
    if (fstat(s->file, &info) != 0 || pread(s->file, header, sizeof header, 0) != (ssize_t)sizeof header ||
        memcmp(header, "SQLite format 3", 16) != 0)
        return jm__fail(err, JM_BAD_DATA, 0, "", "%s is not a recording of joulemap", path);
    uint32_t page_size = (uint32_t)big_endian(header + 16, 2);
    s->page_size = page_size == 1 ? PAGE_MAX : page_size;
    s->usable = s->page_size - header[20];
    if (s->page_size < 512 || s->page_size > PAGE_MAX || s->usable < 480)
        return jm__fail(err, JM_BAD_DATA, 0, "", "%s is damaged at its very beginning", path);
    s->recovery->size = info.st_size;
    s->recovery->expected_size = (int64_t)(big_endian(header + 28, 4) * s->page_size);
    s->recovery->format.version = (int64_t)big_endian(header + 60, 4);
    s->recovery->format.application_id = (int64_t)big_endian(header + 68, 4);
    return jm__format_check(&s->recovery->format, path, err);
}

/* Of two rows with one rowid the first stays, of two values of one key the last. */
static jm_status prepare_insert(scan *s, int table, jm_error *err)
{
    const jm__column *first = &jm__tables[table].columns[0];
    const char * or = first->kind == JM_COLUMN_ROW_ID ? "IGNORE" : first->is_key ? "REPLACE" : NULL;
    jm__strbuf sql = {0};
    jm__table_sql_insert(&sql, &jm__tables[table], (int)s->recovery->format.version, or);
    jm_status status = sql.failed ? jm__no_memory(err, "jm__recover")
                                  : jm__database_prepare(s->db, &s->inserts[table], sql.text, NULL, err);
    jm__strbuf_free(&sql);
    return status;
}

/* A temporary database with the tables of the damaged file's version; SQLite keeps it in memory and spills to
 * disk. */
static jm_status prepare(scan *s, jm_error *err)
{
    int version = (int)s->recovery->format.version;
    JM_TRY(jm__database_create(&s->db, "", version, err));
    for (int table = 0; table < JM_TABLE_COUNT; table++)
        if (jm__tables[table].since <= version) JM_TRY(prepare_insert(s, table, err));
    return jm__database_run(s->db, "BEGIN", NULL, err);
}

static jm_status read_file(scan *s, const char *path, jm_error *err)
{
    JM_TRY(read_header(s, path, err));
    JM_TRY(prepare(s, err));
    int rc = read_pages(s);
    if (rc != SQLITE_OK) return jm__database_fail(err, s->db, rc, "sqlite3_step", path);
    return jm__database_run(s->db, "COMMIT", NULL, err);
}

jm_status jm__recover(sqlite3 **out, const char *path, jm__recovery *recovery, jm_error *err)
{
    scan s = {.file = open(path, O_RDONLY | O_CLOEXEC), .recovery = recovery};
    *recovery = (jm__recovery){0};
    if (s.file < 0)
        return jm__fail(err, JM_IO, errno, "open", "%s cannot be opened: %s", path, strerror(errno));
    s.payload = malloc(PAYLOAD_MAX);
    jm__no_fork_begin();
    jm_status status = s.payload == NULL ? jm__no_memory(err, "jm__recover") : read_file(&s, path, err);
    for (int table = 0; table < JM_TABLE_COUNT; table++)
        sqlite3_finalize(s.inserts[table]);
    if (status != JM_OK) jm__database_close(s.db);
    jm__no_fork_end();
    free(s.payload);
    close(s.file);
    if (status == JM_OK) *out = s.db;
    return status;
}
