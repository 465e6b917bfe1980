/* All findings in one list: those of the back ends, then those of the machine. */
#include <joulemap/doctor.h>

#include "base/status.h"
#include "base/vec.h"
#include "doctor/counters.h"
#include "doctor/kernels.h"
#include "doctor/machine.h"
#include "record/sample/inventory.h"

#include <stdlib.h>

struct jm_doctor {
    jm_inventory *inventory;
    jm__findings findings;
};

jm_status jm_doctor_create(jm_doctor **out, const char *sim, jm_error *err)
{
    *out = NULL;
    jm_doctor *doctor = calloc(1, sizeof *doctor);
    if (doctor == NULL) return jm__no_memory(err, "jm_doctor_create");
    jm_status status = jm_inventory_create(&doctor->inventory, sim, err);
    if (status != JM_OK) {
        jm_doctor_free(doctor);
        return status;
    }
    const jm__findings *devices = jm__devices_findings(jm__inventory_devices(doctor->inventory));
    for (size_t i = 0; i < devices->count; i++)
        (void)jm__vec_push(&doctor->findings, devices->items[i]);
    jm__doctor_kernels(&doctor->findings);
    jm__doctor_counters(&doctor->findings, doctor->inventory, sim != NULL ? sim : getenv("JOULEMAP_SIM"));
    jm__doctor_machine(&doctor->findings);
    *out = doctor;
    return JM_OK;
}

void jm_doctor_free(jm_doctor *doctor)
{
    if (doctor == NULL) return;
    jm_inventory_free(doctor->inventory);
    jm__vec_free(&doctor->findings);
    free(doctor);
}

size_t jm_doctor_finding_count(const jm_doctor *doctor)
{
    return doctor->findings.count;
}

const jm_finding *jm_doctor_finding(const jm_doctor *doctor, size_t finding)
{
    return finding < doctor->findings.count ? &doctor->findings.items[finding] : NULL;
}

const jm_inventory *jm_doctor_inventory(const jm_doctor *doctor)
{
    return doctor->inventory;
}
