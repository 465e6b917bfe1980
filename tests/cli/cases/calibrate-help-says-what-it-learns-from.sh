# what a recording has to hold, and where the model goes
joulemap help calibrate
