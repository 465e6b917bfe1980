/* A ring of images. */
#include "counters/process/images.h"

jm__pm_image *jm__pm_images_free_one(jm__pm_images *images, const jm__pm *pm)
{
    if (images->count == JM_PM_IMAGES_MAX) return NULL;
    jm__pm_image *image = &images->items[(images->first + images->count) % JM_PM_IMAGES_MAX];
    if (image->data == NULL) image->data = jm__pm_image_make(pm);
    return image->data != NULL ? image : NULL;
}

void jm__pm_images_push(jm__pm_images *images)
{
    images->count++;
}

jm__pm_image *jm__pm_images_oldest(jm__pm_images *images)
{
    return images->count > 0 ? &images->items[images->first] : NULL;
}

void jm__pm_images_pop(jm__pm_images *images)
{
    images->first = (images->first + 1) % JM_PM_IMAGES_MAX;
    images->count--;
    images->evaluated = 0;
}
